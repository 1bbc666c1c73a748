import ArgumentParser
import Foundation
import HostSystem
import HubProtocol
import HubServer
import SQLiteFiles
import Settings

struct HubKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Show the connection strings, or rotate a rule's key.",
        discussion: """
            Shows the rules of every hub, of one hub, or of the namespace, whose keys manage hubs. The strings are for \
            SDKs and for other machines. Their address is the setting 'public-address', such as that of a proxy; \
            without it, the first of 'host-names' with the hub's own port, as of the hub's last start. At the hub's own \
            port, clients must trust the certificate that 'newswire hub certificate' shows. Your programs on this \
            machine need no strings; --local shows those that they use, over plain HTTP. --rotate \
            gives a rule a new primary key; the old one remains valid as its secondary key, so that programs can \
            change over, and the former secondary key is revoked at once. Rotate twice to revoke both.

            EXAMPLES
              newswire hub keys
              newswire hub keys --hub orders --rotate DefaultListenSharedAccessSignature
              newswire hub keys --namespace --local
            """
    )

    @OptionGroup var configuration: ConfigurationOptions<HubStateFlags>

    @Option(help: ArgumentHelp("Show the rules of this hub (default: all hubs).", valueName: "name"), completion: .hubs)
    var hub: String?

    @Flag(help: "Show the rules of the namespace, which manage hubs.")
    var namespace = false

    @Option(help: ArgumentHelp("Give this rule a new primary key.", valueName: "rule"))
    var rotate: String?

    @Flag(help: "Show the connection strings for this machine only, over plain HTTP.")
    var local = false

    @Flag(help: "Print JSON.")
    var json = false

    func validate() throws {
        if namespace, hub != nil { throw ValidationError("--hub and --namespace cannot be combined") }
    }

    func run() async throws {
        let settings = try configuration.load()
        let state = try HubState.existing(settings)
        guard [HubFiles.database, HubFiles.generation].contains(where: { HostFile.exists(state.file($0)) }) else {
            throw HubState.noHub(in: state, settings)
        }
        let database = state.file(HubFiles.database)
        try await DatabaseFileError.naming(database) { try await run(HubKeys(databasePath: database), settings, state) }
    }

    private func run(_ keys: HubKeys, _ settings: Settings, _ state: StateDirectory) async throws {
        let owners = try owners(keys)
        if let rotate { try await self.rotate(rotate, of: owners, keys, settings) }
        let shown = try await shown(owners, keys, in: state)
        if rotate != nil { try await write(keys, settings, to: state) }
        try show(shown)
    }

    private func owners(_ keys: HubKeys) throws -> [HubKeys.Owner] {
        if namespace { return [.namespace] }
        guard let hub else { return keys.hubNames.map { .hub($0) } }
        let name = try HubName(given: hub, .usage)
        // In the spelling that the hub was created with; case is ignored.
        return [.hub(keys.hubNames.first { $0 == name } ?? name)]
    }

    private func rotate(
        _ rule: String,
        of owners: [HubKeys.Owner],
        _ keys: HubKeys,
        _ settings: Settings
    ) async throws {
        guard let owner = owners.first, owners.count == 1 else {
            let names = keys.hubNames.map { "'\($0)'" }.joined(separator: ", ")
            throw Failure(.usage, "--rotate needs one hub; there are \(names)", hint: "pass --hub NAME or --namespace")
        }
        let configured =
            switch owner {
            case .namespace: settings.hubs.rules
            case .hub(let name): settings.hubs.hubs.first { $0.name == name }?.rules ?? []
            }
        guard !configured.contains(where: { $0.name == rule }) else {
            throw Failure(
                .badConfiguration,
                "the keys of rule '\(rule)' are configured, and the next start would restore them",
                hint: "change the file in the configuration, and restart the hub"
            )
        }
        _ = try await keys.rotate(rule, of: owner, at: Timestamp(Date()))
        // A running hub uses the new keys by the time this command ends.
        try await Task.sleep(for: HubKeys.takeover)
    }

    /// Writes the changed connection strings to the state directory, as a running hub does.
    private func write(_ keys: HubKeys, _ settings: Settings, to state: StateDirectory) async throws {
        let endpoint = try HubFiles.localEndpoint(in: state)
        let name = try? HubName(settings.value(HubSettings.name))
        let primary = keys.hubNames.first { $0 == name } ?? keys.hubNames.first
        let rules = if let primary { try await keys.rules(of: .hub(primary)) } else { [AccessRule]() }
        try HubFiles.write(
            hub: try rules.map { try ConnectionString(endpoint: endpoint, rule: $0) },
            namespace: try await keys.rules(of: .namespace).map { try ConnectionString(endpoint: endpoint, rule: $0) },
            to: state
        )
    }

    // MARK: Output

    private struct ShownRule: Encodable {
        /// Absent for rules of the namespace.
        let hub: String?
        let name: String
        let rights: [String]
        let primaryConnectionString: String
        let localConnectionString: String
        let secondaryKey: String

        init(_ rule: AccessRule, hub: String?, endpoint: String, local: String) throws {
            (self.hub, name, rights, secondaryKey) = (hub, rule.name, rule.rights.names, rule.secondaryKey)
            primaryConnectionString = "\(try ConnectionString(endpoint: endpoint, rule: rule))"
            localConnectionString = "\(try ConnectionString(endpoint: local, rule: rule))"
        }
    }

    private func shown(
        _ owners: [HubKeys.Owner],
        _ keys: HubKeys,
        in state: StateDirectory
    ) async throws -> [ShownRule] {
        let endpoint = try HubFiles.endpoint(in: state.path)
        let local = try HubFiles.localEndpoint(in: state)
        var shown: [ShownRule] = []
        for owner in owners {
            let hub: String? = if case .hub(let name) = owner { name.text } else { nil }
            shown += try await keys.rules(of: owner).map {
                try ShownRule($0, hub: hub, endpoint: endpoint, local: local)
            }
        }
        return shown
    }

    private func show(_ rules: [ShownRule]) throws {
        let isSeveral = Set(rules.map(\.hub)).count > 1
        let lines = rules.map { rule in
            let owner = isSeveral ? rule.hub.map { "\($0) " } ?? "" : ""
            let string = local ? rule.localConnectionString : rule.primaryConnectionString
            return "\(owner)\(rule.rights.joined(separator: "+")): \(string)"
        }
        try Console.show(rules, asJSON: json, .lines(lines))
    }
}

extension ConnectionString {
    init(endpoint: String, rule: AccessRule) throws(ConnectionStringError) {
        try self.init(endpoint: endpoint, keyName: rule.name, key: rule.primaryKey)
    }
}
