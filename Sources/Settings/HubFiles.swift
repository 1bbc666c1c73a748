import Foundation
package import HostSystem
package import HubProtocol

/// The files of a hub's state directory.
package enum HubFiles {
    package static let database = "hub.sqlite"
    package static let lock = "hub.lock"
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
    /// The file with the endpoint in connection strings for other machines.
    package static let endpoint = "endpoint"

    /// Connection strings that a hub writes for programs of the same user.
    package enum Connection: String, CaseIterable, Sendable {
        case listen = "listen.connection"
        case full = "full.connection"
        /// For managing hubs.
        case namespace = "namespace.connection"
    }

    /// Returns the connection file that a hub of this user has written, if there is one; creates nothing.
    ///
    /// `state` is the configured state directory of the hub.
    package static func existing(_ connection: Connection, state: String?) -> String? {
        readable(connection, in: directory(state: state))
    }

    /// Returns the connection file that `newswire hub --emulate` of this user has written, if there is one.
    package static func emulated(_ connection: Connection) -> String? {
        readable(connection, in: directory(role: emulatorRole, state: nil))
    }

    private static func readable(_ connection: Connection, in directory: String?) -> String? {
        guard let path = directory.map({ "\($0)/\(connection.rawValue)" }) else { return nil }
        return FileManager.default.isReadableFile(atPath: path) ? path : nil
    }

    /// Returns the state directory of this user's hub; `$STATE_DIRECTORY` is ignored, because it belongs to this unit.
    package static func directory(state: String?) -> String? { directory(role: "hub", state: state) }

    private static func directory(role: String, state: String?) -> String? {
        var environment = ProcessInfo.processInfo.environment
        environment["STATE_DIRECTORY"] = nil
        return try? StateDirectory.path(role: role, override: state, environment: environment)
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
