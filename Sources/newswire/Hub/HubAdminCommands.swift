import ArgumentParser
import Formats
import Foundation
import HostSystem
import HubClient
import HubProtocol
import OutboundHTTP
import Settings

/// Options that select the namespace whose hubs a command manages.
struct NamespaceOptions: ParsableArguments {
    @OptionGroup var configuration: ConfigurationOptions<NamespaceFlags>

    @Option(
        help: ArgumentHelp(
            "The file with the namespace's connection string (default: that of your hub on this machine).",
            valueName: "path"
        ),
        completion: .file()
    )
    var connectionFile: String?

    @Flag(help: "Send the key over plain HTTP to a hub on another machine.")
    var allowPlainHttp = false

    /// The endpoints in connection strings.
    struct Endpoints {
        /// The endpoint that this command calls.
        let own: String
        /// The endpoint for SDKs and other machines.
        let others: String
        /// True if only programs on this machine can reach ``others``.
        let isLocal: Bool

        /// Returns the endpoint for SDKs and other machines, given the one that the server reported.
        ///
        /// If this command reached the server from another machine, perhaps through a proxy, its own address works and
        /// is kept.
        func others(answered: String?) -> String { isLocal ? answered ?? others : others }
    }

    func run<Output>(_ work: (NamespaceClient, Endpoints) async throws -> Output) async throws -> Output {
        let settings = try configuration.load()
        let (string, endpoints) = try connectionString(settings)
        let file = settings.value(PublisherSettings.connection.authorityFile)
        let authorities = try HubConnection.authorities(file)
        return try await withHTTP { http in
            let client = try NamespaceClient(
                connection: string,
                http: http,
                allowPlainHTTP: allowPlainHttp,
                certificateAuthorities: authorities
            )
            return try await work(client, endpoints)
        }
    }

    private func connectionString(_ settings: Settings) throws -> (ConnectionString, Endpoints) {
        let connection = HubConnection(
            hub: try HubName(HubName.standard),
            fileFlag: connectionFile,
            allowPlainHTTP: allowPlainHttp,
            hubState: settings.value(HubSettings.state)
        )
        if let string = try connection.named() {
            // Several SDKs cut off the scheme by its length (protocol §1.1), and every port of a hub accepts TLS.
            let address = string.endpoint.drop { $0 != ":" }
            return (string, Endpoints(own: string.endpoint, others: "sb\(address)", isLocal: string.isLoopback))
        }
        if let string = try connection.local(.namespace), let directory = HubFiles.directory(state: connection.hubState)
        {
            let others = try HubState.reading(directory) { try HubFiles.endpoint(in: directory.path) }
            return (string, Endpoints(own: string.endpoint, others: others, isLocal: true))
        }
        throw connection.missing
    }
}

struct HubListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the hubs of a running server.",
        discussion: """
            EXAMPLES
              newswire hub list
              newswire hub list --connection-file namespace.connection --json
            """
    )

    @OptionGroup var namespace: NamespaceOptions

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let hubs = try await namespace.run { client, _ in try await client.hubs() }
        let members = hubs.map { hub -> JSONText in
            [
                "disabled": JSONText(hub.isDisabled), "name": JSONText(hub.name.text),
                "registrationTimeToLive": JSONText(hub.registrationTimeToLive.text),
                "rules": JSONText(strings: hub.rules.map(\.name)),
            ]
        }
        let lines = hubs.map { "\($0.name)\($0.isDisabled ? " (disabled)" : "")" }
        Console.show(JSONText(array: members), asJSON: json, .lines(lines))
    }
}

struct HubCreateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Create a hub in a running server, and show its connection strings.",
        discussion: """
            EXAMPLES
              newswire hub create orders
              newswire hub create orders --registration-time-to-live 90d
            """
    )

    @OptionGroup var namespace: NamespaceOptions

    @Argument(help: "The hub's name: letters, digits and -_.", transform: { try HubName($0) })
    var name: HubName

    @Option(
        help: ArgumentHelp(
            "The lifetime of a registration after its last write (default: no limit).",
            valueName: "time"
        ),
        transform: RegistrationTimeToLive.days
    )
    var registrationTimeToLive: RegistrationTimeToLive?

    @Flag(
        help: "Show the connection strings for your programs on this machine, with the endpoint that this command uses."
    )
    var local = false

    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        let (hub, endpoint) = try await namespace.run { client, endpoints in
            do {
                let timeToLive = registrationTimeToLive ?? .unlimited
                let hub = try await client.create(name, registrationTimeToLive: timeToLive)
                return (hub.summary, local ? endpoints.own : endpoints.others(answered: hub.publicEndpoint))
            } catch HubError.refused(409, _, _, _) {
                let hint = "'newswire hub keys' shows its connection strings"
                throw Failure(.usage, "the hub '\(name)' exists already", hint: hint)
            }
        }
        let strings = try hub.rules.map { ($0, "\(try ConnectionString(endpoint: endpoint, rule: $0))") }
        let byRule = Dictionary(strings.map { ($0.name, $1) }) { first, _ in first }
        let members: JSONText = ["connectionStrings": JSONText(sorted: byRule), "name": JSONText(hub.name.text)]
        let lines = strings.map { rule, string in "\(rule.rights.names.joined(separator: "+")): \(string)" }
        Console.show(members, asJSON: json, .lines(lines))
    }
}

struct HubDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a hub of a running server with all its data.",
        discussion: """
            Its streams end at once, and its data cannot be recovered: run 'newswire hub backup' first.

            EXAMPLES
              newswire hub delete orders
            """
    )

    @OptionGroup var namespace: NamespaceOptions

    @Argument(help: "The hub's name.", completion: .hubs, transform: { try HubName($0) })
    var name: HubName

    func run() async throws {
        let wasThere = try await namespace.run { client, _ in try await client.delete(name) }
        guard wasThere else { throw Failure(.usage, "there is no hub '\(name)'", hint: "newswire hub list") }
        Console.notice("hub '\(name)' is deleted")
    }
}

extension RegistrationTimeToLive {
    /// Parses a number of days, such as `90d`.
    @Sendable fileprivate static func days(_ text: String) throws -> RegistrationTimeToLive {
        guard text.hasSuffix("d"), let days = Int64(text.dropLast()), (1...36_500).contains(days) else {
            throw ValidationError("must be 1d to 36500d")
        }
        return RegistrationTimeToLive(.seconds(days * 86_400))
    }
}
