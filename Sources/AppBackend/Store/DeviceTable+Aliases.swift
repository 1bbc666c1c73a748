import GRDB
import HubProtocol
import SQLiteFiles

/// The registration that a stored id refers to, for one user and handle.
enum DeviceFinding: Sendable, Equatable {
    case device(RegisteredDevice)
    /// The user has presented the id before and was refused: from now on it refers to one of the user's registrations.
    case alias
    /// The id is unknown, gone, or belongs to another device.
    case nothing
}

/// Aliases: ids that devices keep, although the registrations at the hub have other ids.
extension DeviceTable {
    /// The largest number of remembered ids of one user.
    static let maximumAliases = 50
    /// The largest number of users of one id that are read.
    private static let maximumUsers = 100

    /// Finds the registration that a device's stored id refers to.
    ///
    /// An id belongs to a device: the registration with the same handle comes first, whichever user has it. Without
    /// one, it is the user's own registration, whose handle has changed.
    func find(_ given: GivenID, user: String, handle: HandleDigest) throws -> DeviceFinding {
        let found = try linked(given, user: user)
        let same = found.filter { $0.has(handle) }
        if let device = same.first(where: { $0.isHeld(by: user) }) ?? same.first { return .device(device) }
        if let device = try own(given, user: user, among: found) { return .device(device) }
        let isAlias = try db.exists("SELECT 1 FROM deviceAlias WHERE user = ? AND given = ?", [user, given.text])
        return isAlias ? .alias : .nothing
    }

    func find(_ given: GivenID, for claim: DeviceClaim) throws -> DeviceFinding {
        try find(given, user: claim.user.key, handle: claim.handle)
    }

    /// The registration that a user's id refers to.
    func own(_ given: GivenID, user: String) throws -> RegisteredDevice? {
        try own(given, user: user, among: linked(given, user: user))
    }

    private func own(_ given: GivenID, user: String, among devices: [RegisteredDevice]) throws -> RegisteredDevice? {
        let target: String? = try db.value(
            "SELECT target FROM deviceAlias WHERE user = ? AND given = ?",
            [user, given.text]
        )
        let held = devices.filter { $0.isHeld(by: user) }
        return held.first { $0.key.id == target } ?? held.first { $0.key == given.key }
    }

    /// The registration with this id, and those that users refer to by it, this user's first.
    private func linked(_ given: GivenID, user: String) throws -> [RegisteredDevice] {
        let sql = """
            SELECT target FROM deviceAlias WHERE given = ? AND target IS NOT NULL ORDER BY user = ? DESC LIMIT ?
            """
        let targets: [String] = try db.values(sql, [given.text, user, Self.maximumUsers])
        return try ([given.text] + targets.filter { $0 != given.text }).compactMap { id in
            try device(DeviceKey(kind: .registration, id: id))
        }
    }

    /// True if a user can have another device and another alias without losing one; `given` may already be an alias.
    func hasRoom(for given: GivenID?, user: String, maximumDevices: Int) throws -> Bool {
        guard try count(of: user) < maximumDevices else { return false }
        guard let given else { return true }
        return try db.count("deviceAlias WHERE user = ? AND given <> ?", [user, given.text]) < Self.maximumAliases
    }

    /// The registration whose alias must be deleted before a user can have another; `nil` if there is room.
    ///
    /// Ids that do not refer to a registration yet are deleted at once.
    func makeRoomForAlias(_ given: GivenID, user: String) throws -> DeviceKey? {
        let others = "user = ?1 AND given <> ?2"
        let values: [(any DatabaseValueConvertible)?] = [user, given.text, Self.maximumAliases - 1]
        try db.execute(
            """
            DELETE FROM deviceAlias WHERE \(others) AND target IS NULL AND given IN (
                SELECT given FROM deviceAlias WHERE \(others)
                ORDER BY target IS NULL, at DESC LIMIT -1 OFFSET ?3
            )
            """,
            values
        )
        let target: String? = try db.value(
            "SELECT target FROM deviceAlias WHERE \(others) ORDER BY at DESC LIMIT 1 OFFSET ?3",
            StatementArguments(values)
        )
        return target.map { DeviceKey(kind: .registration, id: $0) }
    }

    /// Records that an id of a user was refused; it is accepted the next time.
    func noteRefusal(_ given: GivenID, user: String, at: Timestamp) throws {
        try db.execute(
            "INSERT INTO deviceAlias (user, given, at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
            [user, given.text, at]
        )
    }

    /// Records that a user refers to a registration by an id, and that no other user does.
    func setAlias(_ given: GivenID, user: String, to key: DeviceKey, at: Timestamp) throws {
        try db.execute("DELETE FROM deviceAlias WHERE target = ? AND user <> ?", [key.id, user])
        guard key != given.key else { return }
        try db.execute(
            """
            INSERT INTO deviceAlias (user, given, target, at) VALUES (?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET target = excluded.target, at = excluded.at
            """,
            [user, given.text, key.id, at]
        )
    }

    /// True if the id is the registration's own, or the user's alias for it.
    func hasAlias(_ given: GivenID, user: String, to key: DeviceKey) throws -> Bool {
        if key == given.key { return true }
        let sql = "SELECT 1 FROM deviceAlias WHERE user = ? AND given = ? AND target = ?"
        return try db.exists(sql, [user, given.text, key.id])
    }
}
