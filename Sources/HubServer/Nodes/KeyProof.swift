import HostSystem
import HubStore
import Synchronization

/// Finds out whether this node has the key with which the nodes of a log encrypt credentials.
///
/// A sealed value in the log proves it. The first node whose key opens all credentials adds the value; nodes of earlier
/// versions have stopped then, because they lack its table.
package final class KeyProof: Sendable {
    private enum State {
        /// The log has no proof yet.
        case missing
        case succeeded
        case failed
    }

    private static let purpose = "proof of the key of a log's nodes"
    private static let text = "newswire"

    private let box: SecretBox
    private let state = Mutex(State.missing)

    init(_ box: SecretBox) { self.box = box }

    /// True if the log has a proof that this node's key does not open.
    var hasFailed: Bool { state.withLock { $0 == .failed } }

    /// Returns the problem of a hub whose key is not that of the others, without changing anything.
    ///
    /// - Parameters:
    ///   - database: The hub's database, which has the proof of the log that it follows.
    ///   - secrets: The file with the key.
    /// - Returns: The refusal of the next start; `nil` if there is none, or if that is not known.
    package static func problem(in database: String, secrets: String) -> String? {
        guard HostFile.exists(database), HostFile.exists(secrets),
            let box = try? SecretsFile(path: secrets).box(),
            let proof = try? LogMembership.keyProof(of: database),
            box.open(proof, purpose: purpose) != text
        else { return nil }
        return NodeRefusal.otherKey(path: secrets).description
    }

    /// A new proof, for the log.
    func sealed() throws -> String { try box.seal(Self.text, purpose: Self.purpose) }

    /// Reads the proof of the log, until there is one.
    func look(in store: HubStore) async throws {
        guard state.withLock({ $0 == .missing }), let proof = try await store.keyProof() else { return }
        let isOpened = box.open(proof, purpose: Self.purpose) == Self.text
        state.withLock { $0 = isOpened ? .succeeded : .failed }
    }
}
