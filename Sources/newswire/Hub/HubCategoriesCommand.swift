import ArgumentParser
import HostSystem
import HubClient
import HubProtocol

struct HubCategoriesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "categories",
        abstract: "List the categories that publishers have announced, with their numbers of subscribers.",
        discussion: """
            EXAMPLES
              newswire hub categories
              newswire hub categories --json | jq -r 'select(.total == 0) | .category'
            """
    )

    @OptionGroup var options: HubRequestOptions

    private struct Row: Encodable, Sendable {
        let category: String
        let total: Int
        /// Numbers of subscribers, keyed by platform.
        let subscribers: [String: Int]
    }

    func run() async throws {
        let rows = try await options.ask { hub in
            var rows: [Row] = []
            for category in try await hub.listedCategories() ?? [] {
                let counts = try await hub.recipients(tags: category)
                rows.append(Row(category: category, total: counts.total, subscribers: counts.platforms))
            }
            return rows
        }
        for row in rows { Console.print(options.json ? try JSON.line(row) : Self.line(row)) }
    }

    private static func line(_ row: Row) -> String {
        let counts = row.subscribers.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
        return TerminalText.safe("\(row.category)  \(counts.isEmpty ? "nobody" : counts)")
    }
}
