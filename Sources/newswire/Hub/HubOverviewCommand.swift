import ArgumentParser
import Foundation
import HubClient
import HubProtocol
import WebPages

struct HubOverviewCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "overview",
        abstract: "Show a hub at a glance: devices, messages, backlog, credentials, certificate and log.",
        discussion: """
            EXAMPLES
              newswire hub overview
              newswire hub overview --json | jq .pushBacklog
            """
    )

    @OptionGroup var options: HubRequestOptions

    func run() async throws {
        let overview = try await options.ask { hub in try await hub.overview() }
        let sections = ReportWords.terminal.sections(overview, at: Timestamp(Date()))
        try Console.show(overview, asJSON: options.json, .sections(sections))
    }
}
