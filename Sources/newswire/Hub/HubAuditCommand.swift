import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import PageServer
import Settings

struct HubAuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "audit",
        abstract: "Show the actions of operators on the hub's pages: time, operator, network and outcome.",
        discussion: """
            Each link from 'newswire hub invite --operator' starts a session, which identifies the operator. The last \
            10,000 actions are kept.

            EXAMPLES
              newswire hub audit
              newswire hub audit --last 500 --json
            """
    )

    @OptionGroup var stateOptions: HubStateOptions

    @Option(HubSettings.name)
    var name: String?

    @Option(help: "The number of actions to show, newest first.")
    var last = 50

    @Flag(help: "Print one line of JSON per action.")
    var json = false

    private struct Row: Encodable {
        let at: String
        let who: String
        let network: String
        let action: String
        let detail: String
        let outcome: String
    }

    func validate() throws {
        guard (1...10_000).contains(last) else { throw ValidationError("--last must be 1 to 10000, not \(last)") }
    }

    func run() async throws {
        let settings = try stateOptions.configuration.load()
        let state = try stateOptions.existing(settings)
        let hub = try HubName(given: settings.value(HubSettings.name, flag: name))
        let path = state.file(HubFiles.pages)
        // Opening it would create the file.
        guard HostFile.exists(path) else {
            throw stateOptions.noHub(in: state, "no hub with pages has run with the state directory")
        }
        let store = try PageStore(path: path)
        for action in try await store.actions(of: hub, limit: last) {
            let row = Row(
                at: action.at.wholeSecond,
                who: action.who,
                network: action.network,
                action: action.action,
                detail: action.detail,
                outcome: action.outcome
            )
            Console.print(json ? try JSON.line(row) : Self.line(row))
        }
    }

    private static func line(_ row: Row) -> String {
        TerminalText.safe("\(row.at)  \(row.who)  \(row.action)  \(row.detail)  \(row.outcome)  from \(row.network)")
    }
}
