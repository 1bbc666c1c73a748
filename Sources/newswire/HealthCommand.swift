import ArgumentParser
import Foundation
import HostSystem
import OutboundHTTP
import Settings

struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "health",
        abstract: "Tell whether the programs on this machine work: one line, and exit code 0 or 1.",
        discussion: """
            For health checks of containers and monitors. A hub and an app backend are asked on their own port \
            ('/readyz'); a publisher has started a pass recently, or a publisher with --watch is looking for due feeds. \
            Without a name, the hub and the publisher are checked if there are any. The line has no secrets.

            EXAMPLES
              newswire health
              newswire health publisher --within 2h
            """
    )

    enum Target: String, CaseIterable {
        case hub, backend, publisher
    }

    /// Longer than two intervals of the timer in the package, whose passes can take minutes.
    private static let passInterval: Duration = .seconds(900)
    /// Time for an answer of this machine; container engines wait 30 s.
    private static let timeout: Duration = .seconds(5)

    @Argument(
        help: ArgumentHelp("The programs to check: hub, backend, publisher.", valueName: "program"),
        completion: .list(Target.allCases.map(\.rawValue))
    )
    var programs: [String] = []

    @Option(
        help: ArgumentHelp("How long ago the publisher's last pass may have begun (default: 15m).", valueName: "time"),
        transform: TimeArgument.reader("90s, 15m or 2h")
    )
    var within: Duration?

    @OptionGroup var configuration: ConfigurationOptions<NoFlags>

    func run() async throws {
        let named: [Target] = try ProgramNames.programs(self.programs)
        let settings = try configuration.load()
        let found = named.isEmpty ? installed(settings) : named
        guard !found.isEmpty else {
            throw Failure(
                .failed,
                "there is no hub and no publisher on this machine",
                hint: "name the programs: newswire health \(Target.allCases.map(\.rawValue).joined(separator: " "))"
            )
        }
        var states: [State] = []
        for program in Target.allCases where found.contains(program) {
            switch program {
            case .hub: states.append(await ask("hub", at: hubAddress(settings)))
            case .backend: states.append(await ask("backend", at: backendAddress(settings)))
            case .publisher: states.append(publisher(settings))
            }
        }
        Console.print(TerminalText.safe(states.map(\.text).joined(separator: "; ")))
        guard states.allSatisfy(\.isHealthy) else { throw ExitCode(ExitStatus.failed.rawValue) }
    }

    private struct State {
        let isHealthy: Bool
        let text: String
    }

    /// The programs that have run on this machine, as far as this user can see.
    private func installed(_ settings: Settings) -> [Target] {
        let hub = HubFiles.directory(state: settings.value(HubSettings.state))
        let isHub = hub.map { $0.foreignOwner != nil || HostFile.exists($0.file(HubFiles.database)) } ?? false
        let isPublisher = lastPass(settings) != nil
        return (isHub ? [.hub] : []) + (isPublisher ? [.publisher] : [])
    }

    // MARK: - Servers

    /// The address that the hub has written for programs on this machine, else the configured one.
    private func hubAddress(_ settings: Settings) -> String? {
        if let state = HubFiles.directory(state: settings.value(HubSettings.state)), state.foreignOwner == nil,
            HubFiles.Connection.allCases.contains(where: { HostFile.exists(state.file($0.rawValue)) }),
            let endpoint = try? HubState.reading(state, { try HubFiles.localEndpoint(in: state) })
        {
            return endpoint
        }
        return Self.address(settings.value(HubSettings.listen), settings.value(HubSettings.port))
    }

    private func backendAddress(_ settings: Settings) -> String? {
        Self.address(settings.value(BackendSettings.listen), settings.value(BackendSettings.port))
    }

    private static func address(_ listen: String, _ port: Int) -> String? {
        port == 0 ? nil : HubEndpoint.localEndpoint(listen: listen, port: port)
    }

    private func ask(_ name: String, at address: String?) async -> State {
        guard let address else {
            return State(
                isHealthy: false,
                text: "\(name): its port is not known, because 'port' is 0 and it has not run"
            )
        }
        let request = OutboundRequest(
            url: "\(address)readyz",
            connectTimeout: Self.timeout,
            totalTimeout: Self.timeout,
            maximumBodyBytes: 4_096,
            maximumRedirects: 0,
            addresses: .any
        )
        do {
            let answer = try await withHTTP { try await $0.send(request) }
            let lines = String(decoding: answer.body, as: UTF8.self).split(separator: "\n").joined(separator: ", ")
            switch answer.status {
            case 200: return State(isHealthy: true, text: "\(name): \(lines)")
            case 503: return State(isHealthy: false, text: "\(name): \(lines)")
            default:
                let text = "\(name): another program answers at \(address) (status \(answer.status))"
                return State(isHealthy: false, text: text)
            }
        } catch {
            return State(isHealthy: false, text: "\(name): no answer at \(address): \(error)")
        }
    }

    // MARK: - Publisher

    /// The time since the publisher's last pass began; `nil` if there was none.
    private func lastPass(_ settings: Settings) -> Duration? {
        guard
            let state = try? StateDirectory.existing(
                role: "publisher",
                override: settings.value(PublisherSettings.state),
                environment: ProcessInfo.processInfo.environment.filter { $0.key != "STATE_DIRECTORY" },
                files: [PublisherFiles.database]
            )
        else { return nil }
        return FileLock.heldFor(state.file(PublisherFiles.lock))
    }

    private func publisher(_ settings: Settings) -> State {
        guard let age = lastPass(settings) else { return State(isHealthy: false, text: "publisher: no pass yet") }
        let limit = within ?? Self.passInterval
        let text = "publisher: last pass \(age.components.seconds) s ago"
        return age <= limit
            ? State(isHealthy: true, text: text)
            : State(isHealthy: false, text: "\(text), which is more than \(limit.components.seconds) s")
    }
}
