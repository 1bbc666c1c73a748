import Foundation
import GRDB
package import HubProtocol

extension Transaction {
    /// Former states of one registration that are kept; the oldest go first.
    package static let maximumFormer = 16

    /// A registration, also one that cannot be read.
    package func registration(hub: Int64, id: RegistrationID) throws -> StoredRegistration? {
        let statement = try db.cachedStatement(sql: RegistrationQuery.one)
        return try Row.fetchOne(statement, arguments: [hub, id.text]).flatMap { StoredRegistration(row: $0) }
    }

    /// Those of some ordinals that are there and can be shown, in the order of the ordinals.
    package func registrations(ordinals: [Int64]) throws -> [StoredRegistration] {
        let statement = try db.cachedStatement(sql: RegistrationQuery.byOrdinal)
        return try ordinals.compactMap { ordinal in
            try Row.fetchOne(statement, arguments: [ordinal]).flatMap { StoredRegistration(row: $0) }
        }.filter(\.isReadable)
    }

    /// Stores a registration, new or in the place of one that was registered by itself.
    ///
    /// - Returns: What is stored, with its ETag, and what became of the target.
    package func put(
        _ registration: Registration,
        replacing current: StoredRegistration?,
        hub: Int64,
        at: Int64
    ) throws -> (stored: StoredRegistration, change: TargetChange) {
        var registration = registration
        registration.etag = (current?.registration.etag ?? 0) + 1
        let top = try top()
        var isSame = false
        if let current {
            var unwritten = current.registration
            unwritten.etag = registration.etag
            unwritten.expirationTime = registration.expirationTime
            isSame = unwritten == registration
            if !isSame { try keepFormer(current, hub: hub, through: top) }
        }
        let record = RegistrationRecord(registration).encoded
        let expiresAt = registration.expirationTime?.milliseconds
        if let current {
            try execute(
                """
                UPDATE registration SET etag = ?, platform = ?, isTemplate = ?, tags = ?, handleKey = ?, record = ?,
                    changedAfter = ?, updatedAt = ?, expiresAt = ?
                WHERE ordinal = ?
                """,
                [
                    registration.etag, registration.platform.rawValue, registration.template != nil,
                    registration.tags.joined, registration.pushChannel.key, record,
                    isSame ? current.changedAfter : top, at, expiresAt, current.ordinal,
                ]
            )
        } else {
            try execute(
                """
                INSERT INTO registration (hubID, registrationID, etag, platform, isTemplate, tags, handleKey, record,
                    createdAfter, changedAfter, createdAt, updatedAt, expiresAt)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?9, ?9, ?10, ?10, ?11)
                """,
                [
                    hub, registration.id.text, registration.etag, registration.platform.rawValue,
                    registration.template != nil, registration.tags.joined, registration.pushChannel.key, record,
                    top, at, expiresAt,
                ]
            )
        }
        let stored = StoredRegistration(
            ordinal: current?.ordinal ?? db.lastInsertedRowID,
            registration: registration,
            installation: nil,
            createdAt: current?.createdAt ?? at,
            updatedAt: at,
            changedAfter: isSame ? current?.changedAfter ?? top : top,
            createdAfter: current?.createdAfter ?? top
        )
        return (stored, TargetChange(old: current?.target, new: stored.target))
    }

    /// Removes a registration that was registered by itself.
    ///
    /// With `tombstone` its id is not given a new registration for a while: its owner learns that it has ended.
    package func delete(
        _ current: StoredRegistration,
        tombstone: Bool,
        hub: Int64,
        at: Int64
    ) throws -> TargetChange {
        try keepFormer(current, hub: hub, through: top())
        try execute("DELETE FROM registration WHERE ordinal = ?", [current.ordinal])
        if tombstone {
            try execute(
                "INSERT OR REPLACE INTO tombstone VALUES (?, ?, ?)",
                [hub, current.registration.id.text, at]
            )
        }
        return TargetChange(old: current.target, new: nil)
    }

    /// Whether a registration of this id has ended by itself.
    package func hasEnded(hub: Int64, id: RegistrationID) throws -> Bool {
        let statement = try db.cachedStatement(sql: RegistrationQuery.tombstone)
        return try Bool.fetchOne(statement, arguments: [hub, id.text]) ?? false
    }

    package func dropTombstones(notedBefore cutoff: Int64) throws {
        try execute("DELETE FROM tombstone WHERE at < ?", [cutoff])
    }

    /// Drops former states that no message of the log needs any more.
    func dropFormerRegistrations(through sequence: Int64) throws {
        try execute("DELETE FROM formerRegistration WHERE throughSequence <= ?", [sequence])
    }

    /// Keeps what a registration was, if a message came while it was so.
    private func keepFormer(_ current: StoredRegistration, hub: Int64, through: Int64) throws {
        guard current.isReadable else { return }
        let statement = try db.cachedStatement(sql: RegistrationQuery.lastMessage)
        let last = try Int64.fetchOne(statement, arguments: [hub]) ?? 0
        guard last > current.changedAfter else { return }
        let registration = current.registration
        try execute(
            "INSERT OR REPLACE INTO formerRegistration VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                current.ordinal, through, hub, registration.id.text, registration.pushChannel.key,
                registration.platform.rawValue, registration.template != nil, registration.tags.joined,
                RegistrationRecord(registration).encoded, current.changedAfter,
            ]
        )
        try execute(RegistrationQuery.boundFormer, [current.ordinal, Self.maximumFormer])
    }
}

// MARK: - Of installations

extension Transaction {
    /// Lets the registrations that an installation stands for follow it.
    ///
    /// - Returns: What became of each of them, also of those that are as they were.
    func materialise(_ installation: Installation, ordinal: Int64, hub: Int64, at: Int64) throws -> [TargetChange] {
        var old: [String: Target] = [:]
        let statement = try db.cachedStatement(sql: RegistrationQuery.ofInstallation)
        for row in try Row.fetchAll(statement, arguments: [ordinal]) {
            old[row[4]] = Target(
                ordinal: row[0],
                platform: Platform(rawValue: row[1]),
                isTemplate: row[2],
                tags: row[3],
                installation: ordinal,
                isMain: row[4] == ""
            )
        }
        let top = try top()
        var changes: [TargetChange] = []
        for part in installation.parts {
            let (text, tags) = (part.text, installation.tags(of: part).joined)
            let channel = part.tile.map { installation.secondaryTiles[$0]?.pushChannel } ?? installation.pushChannel
            let known = old.removeValue(forKey: text)
            // The secret of a 'stream' installation is no handle.
            let key = installation.platform == .stream ? nil : channel?.key
            let expiresAt = installation.expirationTime?.milliseconds
            if let known {
                try execute(
                    """
                    UPDATE registration SET etag = etag + 1, platform = ?, tags = ?, handleKey = ?, changedAfter = ?,
                        updatedAt = ?, expiresAt = ?
                    WHERE ordinal = ?
                    """,
                    [installation.platform.rawValue, tags, key, top, at, expiresAt, known.ordinal]
                )
            } else {
                try execute(
                    """
                    INSERT INTO registration (hubID, registrationID, etag, platform, isTemplate, tags, handleKey,
                        installation, part, createdAfter, changedAfter, createdAt, updatedAt, expiresAt)
                    VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?, ?9, ?9, ?10, ?10, ?11)
                    """,
                    [
                        hub, RegistrationID.random().text, installation.platform.rawValue, part.template != nil, tags,
                        key, ordinal, text, top, at, expiresAt,
                    ]
                )
            }
            let new = Target(
                ordinal: known?.ordinal ?? db.lastInsertedRowID,
                platform: installation.platform,
                isTemplate: part.template != nil,
                tags: tags,
                installation: ordinal,
                isMain: part == .main
            )
            changes.append(TargetChange(old: known, new: new))
        }
        for gone in old.values {
            try execute("DELETE FROM registration WHERE ordinal = ?", [gone.ordinal])
            changes.append(TargetChange(old: gone, new: nil))
        }
        return changes
    }

    /// The registrations of an installation that goes, which go with it.
    func targets(ofInstallation ordinal: Int64) throws -> [TargetChange] {
        let statement = try db.cachedStatement(sql: RegistrationQuery.ofInstallation)
        return try Row.fetchAll(statement, arguments: [ordinal]).map { row in
            let target = Target(
                ordinal: row[0],
                platform: Platform(rawValue: row[1]),
                isTemplate: row[2],
                tags: row[3],
                installation: ordinal,
                isMain: row[4] == ""
            )
            return TargetChange(old: target, new: nil)
        }
    }
}
