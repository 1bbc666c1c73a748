import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import Logging
import OutboundHTTP
import Settings
import SubscriberAgent

/// Options that select the agent of a command.
struct AgentOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions<AgentFlags>

    @Option(help: "The name of the agent, if this machine has several.", completion: .profiles)
    var profile = "default"

    @Option(
        help: ArgumentHelp(
            "The state directory (default: $STATE_DIRECTORY, else ~/.local/state/newswire/agent/PROFILE).",
            valueName: "path"
        ),
        completion: .directory
    )
    var state: String?

    /// Opens the profile's agent, calls `work` with it, and closes it; creates the agent if necessary.
    func withAgent(_ work: (SubscriberAgent, Settings) async throws -> Void) async throws {
        let settings = try configuration.load()
        let directory = try StateDirectory.locate(
            role: "agent",
            profile: profile,
            override: state,
            environment: ProcessInfo.processInfo.environment
        )
        try await withAgent(in: directory, settings, work)
    }

    /// Opens the profile's agent, else that of the package's service, calls `work` with it, and closes it; creates
    /// nothing.
    ///
    /// - Returns: False if there is no such agent.
    func withExistingAgent(_ work: (SubscriberAgent, Settings) async throws -> Void) async throws -> Bool {
        let settings = try configuration.load()
        let directory = try StateDirectory.existing(
            role: "agent",
            profile: profile,
            override: state,
            environment: ProcessInfo.processInfo.environment,
            files: [SubscriberAgent.databaseName]
        )
        if let refusal = Administrator.refusal(directory, attempt: "you may not use agent '\(profile)'") {
            throw refusal
        }
        guard HostFile.exists(directory.file(SubscriberAgent.databaseName)) else { return false }
        try await withAgent(in: directory, settings, work)
        return true
    }

    private func withAgent(
        in directory: StateDirectory,
        _ settings: Settings,
        _ work: (SubscriberAgent, Settings) async throws -> Void
    ) async throws {
        // The directory's owner may have put symbolic links in it.
        if !FolderRights.isRoots(directory.file(SubscriberAgent.databaseName)) {
            try FolderRights.keep(ownerOf: directory.path)
        }
        var configuration = AgentConfiguration(directory: directory, profile: profile)
        configuration.variables = ProcessInfo.processInfo.environment
        let hub = try HubConnection(settings, AgentSettings.connection)
        configuration.connection = try hub.named()
        configuration.authorityFile = try HubConnection.authorities(hub.authorityFile)
        let hasStored = HostFile.exists(directory.file(SubscriberAgent.connectionName))
        if configuration.connection == nil, !hasStored { configuration.localConnection = try hub.local(.listen) }
        configuration.hub = hub.isHubNamed ? hub.hub : nil
        configuration.allowsPlainHTTP = hub.allowPlainHTTP
        configuration.inboxSize = settings.value(AgentSettings.inboxSize)
        let logger = Program.logger("newswire.agent", settings.value(AgentSettings.logLevel))
        try await withHTTP { http in
            let agent = try SubscriberAgent(
                configuration,
                environment: AgentEnvironment(reporter: Self.reporter),
                http: http,
                logger: logger
            )
            defer { agent.close() }
            try await work(agent, settings)
        }
    }

    /// Returns the categories of the hub that a new agent would use.
    func categoriesWithoutAgent() async throws -> [CategoryListing] {
        let hub = try HubConnection(configuration.load(), AgentSettings.connection)
        guard let string = try hub.named() ?? hub.local(.listen) else {
            throw AgentError(
                .badConfiguration,
                "no connection string for profile '\(profile)'",
                hint: .noConnectionString
            )
        }
        return try await withHTTP { http in
            try await SubscriberAgent.categories(at: try hub.client(string, http: http))
        }
    }

    static let reporter = AgentReporter(
        warning: { Console.warning($0) },
        notice: { Console.notice($0) },
        hint: { Console.hint(Failure.text($0)) }
    )
}
