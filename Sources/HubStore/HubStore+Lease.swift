import GRDB
import SQLiteFiles

/// The row that names the node with the hub's lease; the table is called `duty`.
package struct LeaseRecord: Sendable, Equatable {
    /// `nil` if no node has the lease.
    package let node: String?
    /// Rises with each takeover.
    package let term: Int64
    /// Rises with each renewal of the term.
    package let renewals: Int64
}

extension HubStore {
    /// The proof of the key that the nodes of the log have in common; `nil` if there is none yet.
    package func keyProof() async throws -> String? { try await read { try $0.keyProof() } }

    package func lease() async throws -> LeaseRecord { try await read { try $0.lease() } }
}

extension Transaction {
    package func lease() throws -> LeaseRecord {
        let lease = try db.row("SELECT node, term, renewals FROM duty") {
            LeaseRecord(node: $0["node"], term: $0["term"], renewals: $0["renewals"])
        }
        guard let lease else { throw HubStoreError.unreadableRecord }
        return lease
    }

    package func keyProof() throws -> String? { try db.value("SELECT sealed FROM keyProof") }

    package func setKeyProof(_ proof: String) throws { try execute("INSERT INTO keyProof VALUES (1, ?)", [proof]) }

    /// Gives the lease to a node.
    ///
    /// - Returns: The new term.
    package func takeLease(by node: String) throws -> Int64 {
        try execute("UPDATE duty SET node = ?, term = term + 1, renewals = 0", [node])
        return try lease().term
    }

    package func renewLease() throws { try execute("UPDATE duty SET renewals = renewals + 1", []) }

    /// Releases the lease, so that any node can take it.
    package func releaseLease() throws { try execute("UPDATE duty SET node = NULL", []) }
}
