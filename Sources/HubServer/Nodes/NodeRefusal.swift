import Certificates
import HostSystem
import HubStore
import NIOPosix

/// The reason why a node must not join the others.
enum NodeRefusal: Error, Equatable, CustomStringConvertible {
    case missingFiles([String])
    case otherKey(path: String)

    var description: String {
        switch self {
        case .missingFiles(let paths):
            """
            cannot join the hubs that share the log without \(paths.map { "'\($0)'" }.joined(separator: " and ")): stop \
            this hub, and copy secrets.key, ca.pem and ca-key.pem from the state directory of one of them
            """
        case .otherKey(let path):
            """
            cannot join the hubs that share the log: '\(path)' is not the key with which they encrypt credentials; copy \
            secrets.key from the state directory of one of them
            """
        }
    }

    /// Refuses to make files that the nodes of a log have in common, unless this node is the first.
    ///
    /// - Throws: ``missingFiles(_:)``; the errors of the log.
    static func checkFiles(_ configuration: HubConfiguration, of log: any OrderedLog) async throws {
        guard log.identity != nil else { return }
        var paths = [configuration.secretsPath]
        if case .local(let local) = configuration.certificate {
            paths.append(LocalCertificates.authorityPath(in: local.directory))
        }
        let missing = paths.filter { !HostFile.exists($0) }
        guard !missing.isEmpty, try await NIOThreadPool.singleton.runIfActive({ try log.end() }) > 0 else { return }
        throw NodeRefusal.missingFiles(missing)
    }
}
