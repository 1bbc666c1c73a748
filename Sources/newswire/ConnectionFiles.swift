import Foundation
import HostSystem
import HubProtocol

/// The connection strings that a hub leaves in its state directory for programs of the same user.
enum ConnectionFiles {
    /// Writes what the standard rules are; a rule that is gone leaves no file, since its string is of no use.
    static func write(
        hub: [ConnectionString],
        namespace: [ConnectionString],
        to state: StateDirectory
    ) throws {
        let named: [(file: HubFiles.Connection, string: ConnectionString?)] = [
            (.listen, hub.first { $0.keyName == AccessRule.defaultListenName }),
            (.full, hub.first { $0.keyName == AccessRule.defaultFullName }),
            (.namespace, namespace.first { $0.keyName == AccessRule.rootName }),
        ]
        for (file, string) in named {
            let path = state.file(file.rawValue)
            guard let string else {
                if HostFile.exists(path) { try FileManager.default.removeItem(atPath: path) }
                continue
            }
            try PrivateFile.write("\(string)\n", to: path)
        }
    }

    /// What SDKs and other machines call, as of the last start.
    static func endpoint(in directory: String) throws -> String {
        let path = "\(directory)/\(HubFiles.endpoint)"
        guard HostFile.exists(path) else { return "sb://localhost:8787/" }
        return try PrivateFile.read(path).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// What programs of this machine call, as of the last start.
    static func localEndpoint(in state: StateDirectory) throws -> String {
        for file in [HubFiles.Connection.namespace, .listen, .full] {
            let path = state.file(file.rawValue)
            guard HostFile.exists(path) else { continue }
            let text = try PrivateFile.read(path).trimmingCharacters(in: .whitespacesAndNewlines)
            return try ConnectionString(parsing: text).endpoint
        }
        return "http://127.0.0.1:8787/"
    }
}
