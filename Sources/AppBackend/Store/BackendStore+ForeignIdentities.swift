import Foundation
import GRDB
import HubProtocol
import SQLiteFiles
import WebEdge

/// Accounts of users whom other parties sign in.
extension BackendStore {
    /// The account of a user of another party.
    func account(of identity: ForeignIdentity) async throws -> Account? {
        try await readShortly { db in try Self.account(of: identity, in: db) }
    }

    /// Finds the account of a user of another party, or creates one with the first available name.
    ///
    /// - Throws: ``AccountError/retained(_:until:)`` for a user who was removed recently,
    ///   ``AccountError/devicesLeft(_:)`` for a removed user whose devices the hub still has,
    ///   ``AccountError/tooManyForeign``; ``AccountError/taken(_:)`` if no name is available.
    func insertAccount(
        of user: ForeignUser,
        limit: Int,
        _ network: ClientNetwork,
        at now: Timestamp
    ) async throws -> Account {
        try await write { db in
            if let account = try Self.account(of: user.identity, in: db) { return account }
            try Self.checkRemoval(of: user.identity, at: now, in: db)
            guard try db.count("account WHERE issuer IS NOT NULL") < limit else { throw AccountError.tooManyForeign }
            for name in user.names where try Self.isFree(name, at: now, in: db) {
                try db.execute(
                    """
                    INSERT INTO account (
                        key, name, rounds, blockSize, parallelism, salt, hash, mayNotifyOthers, createdAt,
                        passwordAt, issuer, subject
                    ) VALUES (?, ?, 0, 0, 0, x'', x'', 0, ?, ?, ?, ?)
                    """,
                    [name.key, name.text, now, now, user.identity.issuer, user.identity.subject]
                )
                try Self.take(name, in: db)
                try AuditEvent(name, .accountAdded, .done, network).insert(at: now, in: db)
                break
            }
            guard let account = try Self.account(of: user.identity, in: db) else {
                guard let name = user.names.last else { throw AccountError.tooManyForeign }
                throw AccountError.taken(name)
            }
            return account
        }
    }

    private static func account(of identity: ForeignIdentity, in db: TableTransaction) throws -> Account? {
        try account(in: db, "issuer = ? AND subject = ?", [identity.issuer, identity.subject])
    }

    private static func isFree(_ name: UserName, at now: Timestamp, in db: TableTransaction) throws -> Bool {
        do {
            try checkFree(name, at: now, in: db)
            return true
        } catch is AccountError {
            return false
        }
    }

    private static func checkRemoval(of identity: ForeignIdentity, at now: Timestamp, in db: TableTransaction) throws {
        let rows = try db.rows(
            """
            SELECT name, removedAt, \(hasDevices) AS hasDevices FROM removedAccount
            WHERE issuer = ? AND subject = ? ORDER BY removedAt DESC
            """,
            [identity.issuer, identity.subject]
        )
        for row in rows {
            guard let name = UserName(row["name"]) else { continue }
            let end = (row["removedAt"] as Timestamp) + Accounts.nameRetention
            if now < end { throw AccountError.retained(name, until: end) }
            // These devices get messages to the former name, so the user must not get another one.
            if row["hasDevices"] { throw AccountError.devicesLeft(name) }
        }
    }
}
