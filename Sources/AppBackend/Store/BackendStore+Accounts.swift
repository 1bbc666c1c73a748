import Foundation
import GRDB
import HubProtocol
import SQLiteFiles

extension BackendStore {
    /// Accounts, their tokens and the audit log; times are milliseconds since 1970.
    ///
    /// `account.key` is ``UserName/key``; rows of other tables can refer to it and are deleted with the account.
    /// `version` changes with the password: a sign-in that was proven under another version is void. Ids are never
    /// reused, so that remembered data of a removed account cannot match a new one. An account with `issuer` and
    /// `subject` belongs to a ``ForeignIdentity``: its password is empty and never checked. A line feed separates the
    /// `roles`. `removedAccount` keeps names from being given to another user (``Accounts/nameRetention``). A row of
    /// `audit` counts `count` equal events from `at` to `lastAt`.
    static func createAccounts(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE account (
                    accountID INTEGER PRIMARY KEY AUTOINCREMENT,
                    key TEXT NOT NULL UNIQUE,
                    name TEXT NOT NULL,
                    rounds INTEGER NOT NULL,
                    blockSize INTEGER NOT NULL,
                    parallelism INTEGER NOT NULL,
                    salt BLOB NOT NULL,
                    hash BLOB NOT NULL,
                    version INTEGER NOT NULL DEFAULT 1,
                    mayNotifyOthers INTEGER NOT NULL,
                    createdAt INTEGER NOT NULL,
                    passwordAt INTEGER NOT NULL
                ) STRICT;
                CREATE TABLE removedAccount (
                    key TEXT PRIMARY KEY,
                    name TEXT NOT NULL,
                    removedAt INTEGER NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE TABLE token (
                    tokenID INTEGER PRIMARY KEY AUTOINCREMENT,
                    accountID INTEGER NOT NULL REFERENCES account ON DELETE CASCADE,
                    hash BLOB NOT NULL UNIQUE,
                    device TEXT,
                    createdAt INTEGER NOT NULL,
                    expiresAt INTEGER NOT NULL,
                    usedAt INTEGER NOT NULL
                ) STRICT;
                CREATE INDEX token_account ON token (accountID);
                CREATE TABLE audit (
                    auditID INTEGER PRIMARY KEY AUTOINCREMENT,
                    at INTEGER NOT NULL,
                    lastAt INTEGER NOT NULL,
                    count INTEGER NOT NULL,
                    who TEXT,
                    what TEXT NOT NULL,
                    outcome TEXT NOT NULL,
                    network TEXT
                ) STRICT;
                CREATE INDEX audit_same ON audit (what, who, outcome, network, at);
                CREATE INDEX audit_outcome ON audit (outcome);
                CREATE INDEX audit_lastAt ON audit (lastAt);
                CREATE INDEX audit_who ON audit (who) WHERE who IS NOT NULL;
                """
        )
    }

    static func addForeignIdentities(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE account ADD COLUMN roles TEXT NOT NULL DEFAULT '';
                ALTER TABLE account ADD COLUMN issuer TEXT;
                ALTER TABLE account ADD COLUMN subject TEXT CHECK ((issuer IS NULL) = (subject IS NULL));
                CREATE UNIQUE INDEX account_identity ON account (issuer, subject) WHERE issuer IS NOT NULL;
                ALTER TABLE removedAccount ADD COLUMN issuer TEXT;
                ALTER TABLE removedAccount ADD COLUMN subject TEXT;
                CREATE INDEX removedAccount_identity ON removedAccount (issuer, subject) WHERE issuer IS NOT NULL;
                """
        )
    }
}

// MARK: Accounts

extension BackendStore {
    func account(named name: UserName) async throws -> Account? {
        try await read { db in
            try Self.account(in: db, "key = ?", [name.key])
        }
    }

    /// The account with an id, unless its password has changed since this version.
    func account(_ id: Int64, version: Int64) async throws -> Account? {
        try await readShortly { db in try Self.account(id, version: version, in: db) }
    }

    /// All accounts, sorted by name.
    func accounts() async throws -> [Account] {
        try await read { db in
            try db.rows("\(Self.accountColumns) ORDER BY key").compactMap(Account.init)
        }
    }

    /// An account with a password, and its hash.
    func storedPassword(of name: UserName) async throws -> (account: Account, hash: PasswordHash)? {
        try await read { db in
            guard
                let row = try db.row(
                    "SELECT * FROM account WHERE key = ? AND issuer IS NULL",
                    [name.key]
                ), let account = Account(row)
            else { return nil }
            return (account, PasswordHash(row))
        }
    }

    /// Stores a new account.
    ///
    /// - Throws: ``AccountError`` when the name is taken.
    func insertAccount(
        _ name: UserName,
        _ hash: PasswordHash,
        mayNotifyOthers: Bool,
        roles: Set<Role>,
        at now: Timestamp
    ) async throws {
        try await write { db in
            try Self.checkFree(name, at: now, in: db)
            try db.execute(
                """
                INSERT INTO account (
                    key, name, rounds, blockSize, parallelism, salt, hash, mayNotifyOthers, roles, createdAt, passwordAt
                ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
                [name.key, name.text] + hash.columns + [mayNotifyOthers, roles.column, now, now]
            )
            try Self.take(name, in: db)
            try AuditEvent(name, .accountAdded, .done, nil).insert(at: now, in: db)
        }
    }

    /// Deletes the data of a name's former owner, and data sent to the name before it had an owner.
    ///
    /// Nobody could fetch such payloads, and they would count against the new owner's limit.
    static func take(_ name: UserName, in db: TableTransaction) throws {
        try db.execute("DELETE FROM removedAccount WHERE key = ?", [name.key])
        try PayloadTable(db: db).deleteAll(of: name.key)
    }

    /// - Throws: ``AccountError`` when a name is taken.
    func checkFree(_ name: UserName, at now: Timestamp) async throws {
        try await read { db in try Self.checkFree(name, at: now, in: db) }
    }

    /// Replaces a password, and revokes all tokens.
    ///
    /// - Throws: ``AccountError/unknown`` when there is no such account, or it has no password.
    func setPassword(of name: UserName, to hash: PasswordHash, at now: Timestamp) async throws {
        try await write { db in
            try db.execute(
                """
                UPDATE account
                SET rounds = ?, blockSize = ?, parallelism = ?, salt = ?, hash = ?, version = version + 1, passwordAt = ?
                WHERE key = ? AND issuer IS NULL
                """,
                hash.columns + [now, name.key]
            )
            guard db.changesCount == 1 else { throw AccountError.unknown(name) }
            try db.execute(
                "DELETE FROM token WHERE accountID = (SELECT accountID FROM account WHERE key = ?)",
                [name.key]
            )
            try AuditEvent(name, .passwordChanged, .done, nil).insert(at: now, in: db)
        }
    }

    /// Replaces the hash of an unchanged password; does nothing if the password has changed since.
    func refreshHash(of account: Account, _ hash: PasswordHash) async throws {
        try await execute(
            """
            UPDATE account SET rounds = ?, blockSize = ?, parallelism = ?, salt = ?, hash = ?
            WHERE accountID = ? AND version = ?
            """,
            hash.columns + [account.id, account.version]
        )
    }

    /// - Throws: ``AccountError/unknown`` when there is no such account, ``AccountError/tooManyRoles(_:)``.
    func changeRights(of name: UserName, _ change: RightsChange, at now: Timestamp) async throws {
        try await write { db in
            guard let account = try Self.account(in: db, "key = ?", [name.key]) else {
                throw AccountError.unknown(name)
            }
            let roles = account.roles.union(change.added).subtracting(change.removed)
            guard roles.count <= Role.maximumPerAccount else { throw AccountError.tooManyRoles(name) }
            try db.execute(
                "UPDATE account SET mayNotifyOthers = ?, mayUseDesk = ?, roles = ? WHERE key = ?",
                [
                    change.mayNotifyOthers ?? account.mayNotifyOthers, change.mayUseDesk ?? account.mayUseDesk,
                    roles.column, name.key,
                ]
            )
            try AuditEvent(name, .rightsChanged, .done, nil).insert(at: now, in: db)
        }
    }

    /// Removes an account with its tokens, and reserves its name for a while.
    ///
    /// - Throws: ``AccountError/unknown`` when there is no such account.
    func removeAccount(_ name: UserName, at now: Timestamp) async throws {
        try await write { db in
            try db.execute(
                """
                INSERT OR REPLACE INTO removedAccount (key, name, removedAt, issuer, subject)
                SELECT key, name, ?, issuer, subject FROM account WHERE key = ? ORDER BY key
                """,
                [now, name.key]
            )
            try db.execute("DELETE FROM account WHERE key = ?", [name.key])
            guard db.changesCount == 1 else { throw AccountError.unknown(name) }
            try PayloadTable(db: db).deleteAll(of: name.key)
            try AuditEvent(name, .accountRemoved, .done, nil).insert(at: now, in: db)
        }
    }

    /// Releases the names of accounts that were removed before `time` and have no devices left.
    func releaseNames(before time: Timestamp) async throws {
        try await execute("DELETE FROM removedAccount WHERE removedAt < ? AND NOT (\(Self.hasDevices))", [time])
    }

    /// Removed accounts with devices that may still be at the hub.
    func removedOwners() async throws -> [UserName] {
        try await read { db in
            let sql = "SELECT name FROM removedAccount WHERE \(Self.hasDevices) ORDER BY removedAt"
            return try db.values(sql).compactMap { UserName($0) }
        }
    }

    /// A condition on rows of `removedAccount`.
    static let hasDevices = """
        (
            EXISTS (SELECT 1 FROM device WHERE user = removedAccount.key)
            OR EXISTS (SELECT 1 FROM device WHERE wantedUser = removedAccount.key)
        )
        """

    static func account(_ id: Int64, version: Int64, in db: TableTransaction) throws -> Account? {
        try account(in: db, "accountID = ? AND version = ?", [id, version])
    }

    /// The account that a condition selects; `nil` without one, and for one of a newer version that cannot be read.
    static func account(in db: TableTransaction, _ condition: String, _ arguments: StatementArguments) throws
        -> Account?
    {
        try db.row("\(accountColumns) WHERE \(condition)", arguments).flatMap(Account.init)
    }

    static let accountColumns = """
        SELECT accountID, name, version, mayNotifyOthers, mayUseDesk, createdAt, passwordAt, roles, issuer, subject
        FROM account
        """

    static func checkFree(_ name: UserName, at now: Timestamp, in db: TableTransaction) throws {
        if try db.exists("SELECT 1 FROM account WHERE key = ?", [name.key]) { throw AccountError.taken(name) }
        let removedAt: Timestamp? = try db.value("SELECT removedAt FROM removedAccount WHERE key = ?", [name.key])
        guard let removedAt else { return }
        let end = removedAt + Accounts.nameRetention
        if now < end { throw AccountError.retained(name, until: end) }
        // Those devices would get the new user's messages.
        if try db.exists("SELECT 1 FROM removedAccount WHERE key = ? AND \(Self.hasDevices)", [name.key]) {
            throw AccountError.devicesLeft(name)
        }
    }
}

extension Account {
    /// Reads an account; `nil` for a name that a newer version has stored and this one cannot read.
    init?(_ row: Row) {
        guard let name = UserName(row["name"]) else { return nil }
        self.init(
            id: row["accountID"],
            version: row["version"],
            name: name,
            mayNotifyOthers: row["mayNotifyOthers"],
            mayUseDesk: row["mayUseDesk"],
            createdAt: row["createdAt"],
            passwordAt: row["passwordAt"],
            roles: Set(column: row["roles"]),
            identity: ForeignIdentity(issuer: row["issuer"], subject: row["subject"])
        )
    }
}

/// A change of an account's rights.
struct RightsChange: Sendable {
    /// The new values of rights; `nil` leaves one unchanged.
    let mayNotifyOthers: Bool?
    let mayUseDesk: Bool?
    let added: Set<Role>
    let removed: Set<Role>
}

extension Set<Role> {
    fileprivate init(column: String) { self = Set(column.split(separator: "\n").compactMap { Role(String($0)) }) }

    fileprivate var column: String { sorted().map(\.text).joined(separator: "\n") }
}

extension PasswordHash {
    fileprivate init(_ row: Row) {
        self.init(
            parameters: ScryptParameters(
                rounds: row["rounds"],
                blockSize: row["blockSize"],
                parallelism: row["parallelism"]
            ),
            salt: [UInt8](row["salt"] as Data),
            key: [UInt8](row["hash"] as Data)
        )
    }

    fileprivate var columns: [(any DatabaseValueConvertible & Sendable)?] {
        [parameters.rounds, parameters.blockSize, parameters.parallelism, Data(salt), Data(key)]
    }
}
