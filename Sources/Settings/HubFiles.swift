import Foundation
package import HostSystem
package import HubProtocol
internal import NetworkAddresses

/// The files of a hub's state directory.
package enum HubFiles {
    package static let database = "hub.sqlite"
    package static let lock = "hub.lock"
    /// The key that credentials for push services are encrypted with.
    package static let secrets = "secrets.key"
    /// The role of the state directory of `newswire hub --emulate`.
    package static let emulatorRole = "emulator"
    /// Accounts, devices and payloads of the app backend.
    package static let backend = "backend.sqlite"
    package static let backendLock = "backend.lock"
    /// The key that payloads are encrypted with.
    package static let backendKey = "backend.key"
    /// The certificate of an app backend that runs alone, and its key; the authority is the hub's.
    package static let backendCertificate = "backend.pem"
    /// Sessions of readers, and invitations.
    package static let pages = "pages.sqlite"
    /// The copy of the app backend's database that belongs to a copy of the hub's.
    package static func backendCopy(beside file: String) -> String { file + ".backend" }

    /// A number that is incremented together with one in the database; it must not be copied with the database.
    package static let generation = "generation"
    /// Tokens for APNs, encrypted.
    package static let apnsTokens = "apns.tokens"
    /// The key with which commands of this machine change tables through a hub that shares its log.
    package static let localKey = "local.key"
    /// The file with the endpoint in connection strings for other machines.
    package static let endpoint = "endpoint"

    /// Connection strings that a hub writes for programs of the same user.
    package enum Connection: String, CaseIterable, Sendable {
        case listen = "listen.connection"
        case full = "full.connection"
        /// For managing hubs.
        case namespace = "namespace.connection"
    }

    /// Returns the connection file that `newswire hub --emulate` of this user has written, if there is one.
    package static func emulated(_ connection: Connection) -> String? {
        guard let path = try? StateDirectory.path(role: emulatorRole, environment: environment) else { return nil }
        let file = "\(path)/\(connection.rawValue)"
        return FileManager.default.isReadableFile(atPath: file) ? file : nil
    }

    /// Files of which a hub's state directory has at least one.
    package static let signs = [database, backend] + Connection.allCases.map(\.rawValue)

    /// Returns the state directory of this user's hub, else that of the package's service; creates nothing.
    ///
    /// `state` is the configured directory. `$STATE_DIRECTORY` is ignored, because it belongs to this unit.
    package static func directory(state: String?) -> StateDirectory? {
        try? StateDirectory.existing(role: "hub", override: state, environment: environment, files: signs)
    }

    private static var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter { $0.key != "STATE_DIRECTORY" }
    }

    /// Writes the connection files of the standard rules, and removes the file of a deleted rule.
    package static func write(
        hub: [ConnectionString],
        namespace: [ConnectionString],
        to state: StateDirectory
    ) throws(HostError) {
        let named: [(file: Connection, string: ConnectionString?)] = [
            (.listen, hub.first { $0.keyName == AccessRule.defaultListenName }),
            (.full, hub.first { $0.keyName == AccessRule.defaultFullName }),
            (.namespace, namespace.first { $0.keyName == AccessRule.rootName }),
        ]
        for (file, string) in named {
            let path = state.file(file.rawValue)
            if let string {
                try PrivateFile.write("\(string)\n", to: path)
            } else {
                try HostFile.remove(path)
            }
        }
    }

    /// Returns the endpoint for SDKs and other machines, as of the last start.
    package static func endpoint(in directory: String) throws(HostError) -> String {
        let path = "\(directory)/\(endpoint)"
        guard HostFile.exists(path) else { return "sb://localhost:\(HubSettings.port.fallback)/" }
        return try PrivateFile.read(path).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Returns the address of pages and of the REST API for other machines, with a slash at the end, as of the last
    /// start.
    ///
    /// - Throws: `HostError` if the file cannot be read, or contains something else.
    package static func webAddress(in directory: String) throws(HostError) -> String {
        let text = try endpoint(in: directory)
        guard text.hasPrefix("sb://"), text.hasSuffix("/"),
            let authority = Authority(text.dropFirst("sb://".count).dropLast())
        else {
            throw HostError(
                "cannot read the hub's address in",
                "\(directory)/\(endpoint)",
                because: "it is not an address such as sb://hub.example.org/",
                hint: "restart the hub, which writes it"
            )
        }
        return "https://\(authority)/"
    }

    /// Returns the endpoint for programs of this machine, as of the last start.
    package static func localEndpoint(in state: StateDirectory) throws -> String {
        for file in [Connection.namespace, .listen, .full] {
            let path = state.file(file.rawValue)
            guard HostFile.exists(path) else { continue }
            let text = try PrivateFile.read(path).trimmingCharacters(in: .whitespacesAndNewlines)
            return try ConnectionString(parsing: text).endpoint
        }
        return "http://\(HubSettings.listen.fallback):\(HubSettings.port.fallback)/"
    }
}

/// The files of a publisher's state directory.
package enum PublisherFiles {
    package static let database = "publisher.sqlite"
    package static let lock = "publisher.lock"
}
