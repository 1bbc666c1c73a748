import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import Logging
import OutboundHTTP
import SubscriberAgent

/// Which agent a command speaks for.
struct AgentOptions: ParsableArguments {
    @OptionGroup var connection: ConnectionOptions

    @Option(help: "Which of several agents on this machine.")
    var profile = "default"

    @Option(
        help: ArgumentHelp(
            "The state directory. Without it: $STATE_DIRECTORY, then ~/.local/state/newswire/agent/PROFILE.",
            valueName: "path"
        )
    )
    var state: String?

    /// Opens the profile's agent, runs the work with it and closes it.
    func withAgent(_ work: (SubscriberAgent) async throws -> Void) async throws {
        try await reportingFailures {
            let variables = ProcessInfo.processInfo.environment
            let directory = try StateDirectory.locate(
                role: "agent",
                profile: profile,
                override: state,
                environment: variables
            )
            var configuration = AgentConfiguration(directory: directory, profile: profile, variables: variables)
            configuration.connection = try agentConnection(directory)
            configuration.hub = try connection.hub == ConnectionOptions.defaultHub ? nil : connection.hubName()
            configuration.allowsPlainHTTP = connection.allowPlainHttp ? true : nil
            let http = OutboundClient(userAgent: Program.userAgent)
            do {
                let agent = try SubscriberAgent(
                    configuration,
                    environment: AgentEnvironment(reporter: Self.reporter),
                    http: http,
                    logger: Program.logger("newswire.agent")
                )
                try await work(agent)
                agent.close()
                await http.shutdown()
            } catch let error as AgentError {
                await http.shutdown()
                throw Failure(ExitStatus(rawValue: error.exit.rawValue) ?? .failed, error.description, hint: error.hint)
            }
        }
    }

    /// What was named for this start, else what the profile has stored (`nil`), else a hub of this machine.
    private func agentConnection(_ directory: StateDirectory) throws -> ConnectionString? {
        if let named = try connection.namedConnection() { return named }
        let hasStored = FileManager.default.fileExists(atPath: directory.file(SubscriberAgent.connectionName))
        return hasStored ? nil : try connection.localConnection(.listen)
    }

    static let reporter = AgentReporter(
        warning: { Console.warning($0) },
        notice: { Console.notice($0) },
        hint: { Console.hint($0) }
    )
}
