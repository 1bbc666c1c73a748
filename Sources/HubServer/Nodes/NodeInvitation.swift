import Formats
import Foundation
package import HostSystem
package import HubProtocol

/// The files that one more node of a hub gets for a code: once, within ``lifetime``.
///
/// A command on a node's machine writes it into the state directory, beside a copy of the database, and the running node
/// hands both out.
package struct NodeInvitation: Codable, Sendable {
    /// Time for which a code can be used.
    package static let lifetime = Duration.seconds(3_600)
    private static let name = "node.invitation"
    /// Maximum bytes of an invitation: a few keys, certificates and settings.
    package static let maximumBytes = 256 << 10

    /// The content of the new node's files.
    package struct Parcel: Codable, Sendable {
        /// The node's name in the log.
        package let node: String
        /// Texts of files of the state directory, by name.
        package let stateFiles: [String: String]
        /// Texts of files with which the node authenticates to the log's servers, by name.
        package let logFiles: [String: String]
        /// Values of settings by id, as environment variables have them.
        package let settings: [String: String]
        /// Size of the copy of the database, in bytes.
        package let databaseBytes: Int

        package init(
            node: String,
            stateFiles: [String: String],
            logFiles: [String: String],
            settings: [String: String],
            databaseBytes: Int
        ) {
            (self.node, self.stateFiles, self.logFiles) = (node, stateFiles, logFiles)
            (self.settings, self.databaseBytes) = (settings, databaseBytes)
        }
    }

    /// The digest of the code's secret.
    let digest: [UInt8]
    private let expiry: Int64
    let parcel: Parcel

    package init(for secret: PushChannelSecret, at now: Timestamp, _ parcel: Parcel) {
        (digest, expiry) = (secret.digest, (now + Self.lifetime).milliseconds)
        self.parcel = parcel
    }

    func isExpired(at now: Timestamp) -> Bool { now.milliseconds >= expiry }

    /// The copy of the database that belongs to the invitation in a state directory.
    package static func database(in folder: String) -> String { "\(path(in: folder)).sqlite" }

    private static func path(in folder: String) -> String { "\(folder)/\(name)" }

    package func write(in folder: String) throws {
        try PrivateFile.write(try JSONEncoder.sorted.text(self), to: Self.path(in: folder))
    }

    /// The invitation in a state directory; `nil` if there is none.
    static func read(in folder: String) -> NodeInvitation? {
        guard let text = try? PrivateFile.read(path(in: folder), limit: maximumBytes) else { return nil }
        return try? JSONReader.decode(NodeInvitation.self, from: text)
    }

    /// Ends the invitation in a state directory.
    package static func remove(in folder: String) throws(HostError) {
        // The code first: without the copy it would get nothing.
        try HostFile.remove(path(in: folder))
        for file in copies(in: folder) { try HostFile.remove(file) }
    }

    /// The copy of the database, and what a copying that was killed has left of it.
    private static func copies(in folder: String) -> [String] {
        ["", ".part", ".part-journal"].map { database(in: folder) + $0 }
    }

    /// Removes what is left of an invitation without its code, after the time for which one can be used.
    static func removeLeftovers(in folder: String, at now: Date) throws(HostError) {
        guard read(in: folder) == nil else { return }
        for file in copies(in: folder) {
            let facts = try? FileManager.default.attributesOfItem(atPath: file)
            guard let date = facts?[.modificationDate] as? Date else { continue }
            if now.timeIntervalSince(date) > lifetime / .seconds(1) { try HostFile.remove(file) }
        }
    }

    /// Ends the invitation, and opens the copy of the database, of which nothing is left once it is closed.
    ///
    /// - Returns: `nil` if another request was first.
    static func take(in folder: String) throws -> FileHandle? {
        guard let file = FileHandle(forReadingAtPath: database(in: folder)), unlink(path(in: folder)) == 0 else {
            return nil
        }
        try HostFile.remove(database(in: folder))
        return file
    }
}

/// The code with which a new node comes to a hub: a secret, and the key of the hub that knows it.
///
/// A server in the hub's place would not have its key, and gets neither the secret nor the new node.
package struct NodeCode: Sendable, Equatable, CustomStringConvertible {
    /// SHA-256 of the public key of the hub's certificate.
    package let publicKeyHash: [UInt8]
    package let secret: PushChannelSecret

    package init(publicKeyHash: [UInt8], secret: PushChannelSecret) {
        (self.publicKeyHash, self.secret) = (publicKeyHash, secret)
    }

    /// Reads a code as it was printed; `nil` for anything else.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let hash = Base64URL.decode(String(parts[0])), hash.count == 32,
            let secret = try? PushChannelSecret(String(parts[1]))
        else { return nil }
        self.init(publicKeyHash: hash, secret: secret)
    }

    package var description: String { "\(Base64URL.encode(publicKeyHash)).\(secret.text)" }
}
