import ArgumentParser
import Formats
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

    @OptionGroup var configuration: ConfigurationOptions<HubNameFlags>

    @Option(help: "The number of actions to show, newest first.")
    var last = 50

    @Flag(help: "Print one line of JSON per action.")
    var json = false

    func validate() throws {
        guard (1...10_000).contains(last) else { throw ValidationError("--last must be 1 to 10000, not \(last)") }
    }

    func run() async throws {
        let settings = try configuration.load()
        let state = try HubState.existing(settings)
        let hub = try HubName(given: settings.value(HubSettings.name))
        let store = try HubState.pages(in: state, settings)
        for action in try await store.actions(of: hub, limit: last) {
            let at = action.at.wholeSecond
            let members: JSONText = [
                "action": JSONText(action.action), "at": JSONText(at), "detail": JSONText(action.detail),
                "network": JSONText(action.network), "outcome": JSONText(action.outcome), "who": JSONText(action.who),
            ]
            let from = "from \(action.network)"
            Console.show(
                members,
                asJSON: json,
                .row(at, action.who, action.action, action.detail, action.outcome, from)
            )
        }
    }
}
