import Foundation
import GRDB
import HubProtocol
import SQLiteFiles

extension BackendStore {
    static func createDevices(_ db: Database) throws {
        try db.execute(
            sql: """
                CREATE TABLE device (
                    kind INTEGER NOT NULL,
                    id TEXT NOT NULL,
                    user TEXT NOT NULL,
                    handle BLOB,
                    wantedUser TEXT,
                    wantedHandle BLOB,
                    isRegistered INTEGER NOT NULL,
                    createdAt INTEGER NOT NULL,
                    changedAt INTEGER NOT NULL,
                    PRIMARY KEY (kind, id),
                    CHECK ((wantedUser IS NULL) = (wantedHandle IS NULL))
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX deviceByUser ON device (user, isRegistered, changedAt);
                CREATE INDEX deviceByWantedUser ON device (wantedUser) WHERE wantedUser IS NOT NULL;

                CREATE TABLE deviceAlias (
                    user TEXT NOT NULL,
                    given TEXT NOT NULL,
                    target TEXT,
                    at INTEGER NOT NULL,
                    PRIMARY KEY (user, given)
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX deviceAliasByGiven ON deviceAlias (given);
                CREATE INDEX deviceAliasByTarget ON deviceAlias (target) WHERE target IS NOT NULL;
                """
        )
    }

    static func addLateCalls(_ db: Database) throws {
        try db.execute(
            sql: """
                ALTER TABLE device ADD COLUMN lateCalls INTEGER NOT NULL DEFAULT 0;
                ALTER TABLE device ADD COLUMN lateUntil INTEGER NOT NULL DEFAULT 0;
                CREATE INDEX deviceByHandle ON device (handle) WHERE handle IS NOT NULL;
                CREATE INDEX deviceByWantedHandle ON device (wantedHandle) WHERE wantedHandle IS NOT NULL;
                """
        )
    }

    func readDevices<Value: Sendable>(_ body: @escaping @Sendable (DeviceTable) throws -> Value) async throws -> Value {
        try await readShortly { try body(DeviceTable(db: $0)) }
    }

    func changeDevices<Value: Sendable>(
        _ body: @escaping @Sendable (DeviceTable) throws -> Value
    ) async throws -> Value {
        try await write { try body(DeviceTable(db: $0)) }
    }
}

/// The devices of users, within a transaction.
struct DeviceTable {
    let db: TableTransaction

    private static let columns =
        "kind, id, user, handle, wantedUser, wantedHandle, isRegistered, changedAt, lateCalls, lateUntil"

    func device(_ key: DeviceKey) throws -> RegisteredDevice? {
        try devices("kind = :kind AND id = :id", ["kind": key.kind.rawValue, "id": key.id]).first
    }

    /// A user's registrations for a handle: those that the hub has, then unused ids, each oldest first.
    ///
    /// The plus sign keeps SQLite from using the primary key, which would read all users' registrations.
    func registrations(of user: String, handle: HandleDigest) throws -> [RegisteredDevice] {
        try devices(
            """
            (user = :user AND handle = :handle OR wantedUser = :user AND wantedHandle = :handle) AND +kind = 0
            ORDER BY isRegistered DESC, createdAt, id
            """,
            ["user": user, "handle": handle.bytes]
        )
    }

    /// Devices with a push handle that the hub has, or may have, for other users.
    func devices(with handle: HandleDigest, ofOthersThan user: String, limit: Int) throws -> [RegisteredDevice] {
        try devices(
            """
            (handle = :handle OR wantedHandle = :handle) AND isRegistered = 1
                AND (user <> :user OR wantedUser <> :user)
            ORDER BY kind, id LIMIT :limit
            """,
            ["handle": handle.bytes, "user": user, "limit": limit]
        )
    }

    /// A user's registrations and installations, least recently changed first.
    func devices(of user: String) throws -> [RegisteredDevice] {
        try devices("(user = :user OR wantedUser = :user) ORDER BY changedAt, kind, id", ["user": user])
    }

    private func devices(_ condition: String, _ arguments: StatementArguments) throws -> [RegisteredDevice] {
        try db.rows("SELECT \(Self.columns) FROM device WHERE \(condition)", arguments).compactMap(Self.device)
    }

    /// True if a user's account has not been removed.
    func hasAccount(_ user: String) throws -> Bool {
        try db.exists("SELECT 1 FROM account WHERE key = ?", [user])
    }

    /// Number of a user's devices that the hub has, or may have.
    func count(of user: String) throws -> Int {
        try db.count("device WHERE user = ? AND isRegistered = 1", [user])
    }

    /// The least recently changed device of a user, if the user has at least `limit`.
    func excessDevice(of user: String, limit: Int) throws -> RegisteredDevice? {
        guard try count(of: user) >= limit else { return nil }
        return try devices("user = :user AND isRegistered = 1 ORDER BY changedAt, kind, id LIMIT 1", ["user": user])
            .first
    }

    // MARK: - Changes

    /// Records an id that was issued to a user, and deletes the user's oldest unused ids above `limit`.
    func reserve(_ key: DeviceKey, for holder: RegisteredDevice.Holder, limit: Int, at: Timestamp) throws {
        try insert(RegisteredDevice(key: key, holder: holder, isRegistered: false, changedAt: at), at: at)
        try db.execute(
            """
            DELETE FROM device WHERE kind = ?2 AND id IN (
                SELECT id FROM device WHERE user = ?1 AND +kind = ?2 AND isRegistered = 0
                ORDER BY createdAt DESC, id = ?3 DESC LIMIT -1 OFFSET ?4
            )
            """,
            [holder.user, key.kind.rawValue, key.id, limit]
        )
    }

    /// Records the state of a device, new or not, that a call to the hub is about to create.
    ///
    /// The call counts as late until the device is settled or restored: this process may end before the call does.
    func want(_ wantedHolder: RegisteredDevice.Holder, of key: DeviceKey, at: Timestamp) throws {
        if let device = try device(key) {
            let late = LateCalls(adding: 1, to: device.late, at: at)
            try set("wantedUser = ?, wantedHandle = ?, isRegistered = 1", wantedHolder.columns, of: key, late)
        } else {
            let holder = RegisteredDevice.Holder(user: wantedHolder.user, handle: nil)
            let late = LateCalls(adding: 1, to: nil, at: at)
            try insert(
                RegisteredDevice(
                    key: key,
                    holder: holder,
                    wanted: wantedHolder,
                    isRegistered: true,
                    changedAt: at,
                    late: late
                ),
                at: at
            )
        }
    }

    /// Records that the hub has made the requested change; `late` are the calls whose outcome is still unknown.
    func settle(_ wantedHolder: RegisteredDevice.Holder, of key: DeviceKey, at: Timestamp, late: LateCalls? = nil)
        throws
    {
        try set(
            "user = ?, handle = ?, wantedUser = NULL, wantedHandle = NULL, isRegistered = 1, changedAt = ?",
            wantedHolder.columns + [at],
            of: key,
            late
        )
    }

    /// Restores the state of a device before ``want(_:of:at:)``; `nil` for none.
    func restore(_ former: RegisteredDevice?, of key: DeviceKey) throws {
        guard let former else { return try remove(key) }
        try set(
            "wantedUser = ?, wantedHandle = ?, isRegistered = ?",
            (former.wanted?.columns ?? [nil, nil]) + [former.isRegistered],
            of: key,
            former.late
        )
    }

    /// Records a call with an unknown outcome that changes no stored state.
    func noteLateCall(of key: DeviceKey, at: Timestamp) throws {
        guard let device = try device(key) else { return }
        let late = LateCalls(adding: 1, to: device.late, at: at)
        try set("isRegistered = 1", [], of: key, late)
    }

    /// Deletes a device; aliases of a registration remain, without a target.
    func remove(_ key: DeviceKey) throws {
        try db.execute("DELETE FROM device WHERE kind = ? AND id = ?", [key.kind.rawValue, key.id])
        guard key.kind == .registration else { return }
        try db.execute("UPDATE deviceAlias SET target = NULL WHERE target = ?", [key.id])
    }

    private func insert(_ device: RegisteredDevice, at: Timestamp) throws {
        try db.execute(
            """
            INSERT INTO device (\(Self.columns), createdAt) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """,
            [device.key.kind.rawValue, device.key.id] + device.holder.columns + (device.wanted?.columns ?? [nil, nil])
                + [device.isRegistered, device.changedAt, device.late?.count ?? 0, device.late?.until ?? 0, at]
        )
    }

    private func set(
        _ assignments: String,
        _ values: [(any DatabaseValueConvertible)?],
        of key: DeviceKey,
        _ late: LateCalls?
    ) throws {
        try db.execute(
            "UPDATE device SET \(assignments), lateCalls = ?, lateUntil = ? WHERE kind = ? AND id = ?",
            values + [late?.count ?? 0, late?.until ?? 0, key.kind.rawValue, key.id]
        )
    }

    private static func device(_ row: Row) -> RegisteredDevice? {
        guard let kind = DeviceKey.Kind(rawValue: row["kind"]) else { return nil }
        let wantedUser: String? = row["wantedUser"]
        return RegisteredDevice(
            key: DeviceKey(kind: kind, id: row["id"]),
            holder: RegisteredDevice.Holder(
                user: row["user"],
                handle: (row["handle"] as Data?).map(HandleDigest.init(bytes:))
            ),
            wanted: wantedUser.map { user in
                RegisteredDevice.Holder(
                    user: user,
                    handle: (row["wantedHandle"] as Data?).map(HandleDigest.init(bytes:))
                )
            },
            isRegistered: row["isRegistered"],
            changedAt: row["changedAt"],
            late: LateCalls(count: row["lateCalls"], until: row["lateUntil"])
        )
    }
}

extension RegisteredDevice.Holder {
    /// The values of the columns of user and handle.
    fileprivate var columns: [(any DatabaseValueConvertible)?] { [user, handle?.bytes] }
}
