import Foundation
import GRDB
import HubProtocol
import SQLiteFiles
import WebEdge

extension BackendStore {
    /// The account of a valid token.
    ///
    /// Each call reads the file, so that a token is invalid as soon as another process has revoked it.
    func account(token: AccessToken, at now: Timestamp) async throws -> (account: Account, use: TokenUse)? {
        let hash = Data(token.hash)
        return try await readShortly { db in
            let row = try db.row(
                """
                SELECT tokenID, usedAt, account.* FROM token JOIN account USING (accountID)
                WHERE token.hash = ? AND expiresAt > ?
                """,
                [hash, now]
            )
            guard let row, let account = Account(row) else { return nil }
            return (account, TokenUse(tokenID: row["tokenID"], lastAt: row["usedAt"]))
        }
    }

    /// Records when a token was last used.
    func noteUse(of tokenID: Int64, at now: Timestamp) async throws {
        try await execute("UPDATE token SET usedAt = ? WHERE tokenID = ?", [now, tokenID])
    }

    /// Stores a token of an account; replaces the account's oldest token if there are too many.
    ///
    /// - Returns: False if the account's password has changed, or the account is gone.
    func insertToken(
        _ token: AccessToken,
        of account: Account,
        device: String?,
        _ network: ClientNetwork,
        at now: Timestamp
    ) async throws -> Bool {
        let hash = Data(token.hash)
        return try await write { db in
            guard try Self.account(account.id, version: account.version, in: db) != nil else { return false }
            try db.execute(
                """
                DELETE FROM token WHERE accountID = ? AND tokenID NOT IN (
                    SELECT tokenID FROM token WHERE accountID = ? ORDER BY tokenID DESC LIMIT ?
                )
                """,
                [account.id, account.id, AccessToken.maximumPerUser - 1]
            )
            try db.execute(
                """
                INSERT INTO token (accountID, hash, device, createdAt, expiresAt, usedAt) VALUES (?, ?, ?, ?, ?, ?)
                """,
                [account.id, hash, device, now, now + AccessToken.lifetime, now]
            )
            try AuditEvent(account.name, .logIn, .done, network).count(at: now, in: db)
            return true
        }
    }

    /// Revokes a client's token.
    ///
    /// - Returns: False if it is not valid.
    func revoke(_ token: AccessToken, _ network: ClientNetwork, at now: Timestamp) async throws -> Bool {
        let hash = Data(token.hash)
        return try await write { db in
            let name: String? = try db.value(
                """
                SELECT account.name FROM token JOIN account USING (accountID) WHERE token.hash = ? AND expiresAt > ?
                """,
                [hash, now]
            )
            guard let name else { return false }
            try db.execute("DELETE FROM token WHERE hash = ?", [hash])
            try AuditEvent(UserName(name), .logOut, .done, network).count(at: now, in: db)
            return true
        }
    }

    /// Revokes one of a user's tokens by its id.
    ///
    /// - Returns: False if the user has no such token.
    func revokeToken(_ id: Int64, of name: UserName, at now: Timestamp) async throws -> Bool {
        try await write { db in
            try db.execute(
                """
                DELETE FROM token
                WHERE tokenID = ? AND accountID = (SELECT accountID FROM account WHERE key = ?)
                """,
                [id, name.key]
            )
            guard db.changesCount == 1 else { return false }
            try AuditEvent(name, .tokenRevoked, .done, nil).insert(at: now, in: db)
            return true
        }
    }

    /// The valid tokens of a user, oldest first.
    func tokens(of name: UserName, at now: Timestamp) async throws -> [TokenRecord] {
        try await read { db in
            let rows = try db.rows(
                """
                SELECT tokenID AS id, device, token.createdAt, expiresAt, usedAt
                FROM token JOIN account USING (accountID) WHERE key = ? AND expiresAt > ? ORDER BY tokenID
                """,
                [name.key, now]
            )
            return try rows.map(TokenRecord.init(row:))
        }
    }

    func deleteTokens(expiredBefore time: Timestamp) async throws {
        try await execute("DELETE FROM token WHERE expiresAt < ?", [time])
    }
}
