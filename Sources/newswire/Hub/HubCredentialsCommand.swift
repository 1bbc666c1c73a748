import ArgumentParser
import HostSystem
import HubClient
import HubProtocol
import WebPages

struct HubCredentialsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credentials",
        abstract: "Show the state of a hub's credentials for push services, and test them.",
        subcommands: [HubCredentialsListCommand.self, HubCredentialsTestCommand.self],
        defaultSubcommand: HubCredentialsListCommand.self
    )

    /// Prints a report, and fails if a credential cannot be used.
    static func show(_ report: CredentialReport, asJSON: Bool) throws {
        if !asJSON, report.credentials.isEmpty { Console.notice("the hub has no credential for a push service") }
        let rows = report.credentials.map { ["\($0.platform)"] + ReportWords.terminal.parts($0) }
        try Console.show(report, asJSON: asJSON, .rows(rows))
        let unusable = report.credentials.count { !$0.isUsable }
        guard unusable == 0 else {
            throw Failure(.failed, "\(unusable) of \(report.credentials.count) credentials cannot be used")
        }
    }
}

struct HubCredentialsListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the credentials, with the last answer of their push services and their expiry.",
        discussion: """
            EXAMPLES
              newswire hub credentials
              newswire hub credentials list --json
            """
    )

    @OptionGroup var options: HubRequestOptions

    func run() async throws {
        let report = try await options.ask { hub in try await hub.credentials(asking: false) }
        try HubCredentialsCommand.show(report, asJSON: options.json)
    }
}

struct HubCredentialsTestCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Ask each push service whether it accepts the hub's credential; nothing is sent to devices.",
        discussion: """
            EXAMPLES
              newswire hub credentials test
              newswire hub credentials test --hub sports
            """
    )

    @OptionGroup var options: HubRequestOptions

    func run() async throws {
        let report = try await options.ask { hub in try await hub.credentials(asking: true) }
        try HubCredentialsCommand.show(report, asJSON: options.json)
    }
}
