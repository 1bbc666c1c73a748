import ArgumentParser
import Formats
import HubClient
import HubProtocol
import WebPages

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

    func run() async throws {
        let categories = try await options.ask { hub in
            var categories: [(name: String, subscribers: RecipientCounts)] = []
            for name in try await hub.listedCategories() ?? [] {
                categories.append((name, try await hub.recipients(tags: name)))
            }
            return categories
        }
        for (name, subscribers) in categories {
            let json: JSONText = [
                "category": JSONText(name),
                "subscribers": JSONText(sorted: subscribers.platforms.mapValues { JSONText($0) }),
                "total": JSONText(subscribers.total),
            ]
            let counts = ReportWords.terminal.counts(subscribers.platforms, none: "nobody")
            Console.show(json, asJSON: options.json, .row(name, counts))
        }
    }
}
