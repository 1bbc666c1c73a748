import HostSystem
package import ReplicatedLog
package import Settings

/// The settings of the log that several hubs share.
package struct LogSettings: Sendable {
    private let settings: Settings

    /// Reads them from settings, flags included.
    package init(_ settings: Settings) { self.settings = settings }

    /// The log's servers and this hub's part in it; `nil` for a hub without a shared log.
    package var configuration: ReplicatedLogConfiguration? {
        guard let servers = settings.value(HubSettings.logServers) else { return nil }
        var configuration = ReplicatedLogConfiguration(
            servers: servers,
            name: settings.value(HubSettings.logName),
            node: settings.value(HubSettings.logNode) ?? Self.machine
        )
        configuration.replicas = settings.value(HubSettings.logReplicas)
        configuration.credentials = settings.value(HubSettings.logCredentials)
        configuration.authority = settings.value(HubSettings.logAuthority)
        configuration.certificate = settings.value(HubSettings.logCertificate)
        configuration.key = settings.value(HubSettings.logKey)
        return configuration
    }

    /// This machine's name up to the first dot, with '-' for characters that a node's name may not contain.
    private static var machine: String {
        let name = MachineNames.all(patience: .zero).first ?? "node"
        let label = name.prefix { $0 != "." }.prefix(32)
        let isAllowed = { (character: Character) in
            character.isASCII && (character.isLetter || character.isNumber || "_-".contains(character))
        }
        return label.isEmpty ? "node" : String(label.map { isAllowed($0) ? $0 : "-" })
    }

    /// Problems that keep them from being used together.
    package var problems: [String] {
        guard let configuration else {
            let others = [
                HubSettings.logNode, HubSettings.logCredentials, HubSettings.logAuthority, HubSettings.logCertificate,
                HubSettings.logKey,
            ]
            let isLeft = others.contains { settings.value($0) != nil }
            return isLeft ? ["settings of a log are set, but 'log-servers' is not"] : []
        }
        return configuration.problems
    }
}
