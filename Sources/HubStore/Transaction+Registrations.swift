import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

extension Transaction {
    /// Maximum number of former states of one registration; the oldest are dropped first.
    package static let maximumFormer = 16

    /// A registration, including one that cannot be read.
    package func registration(hub: HubKey, id: RegistrationID) throws -> StoredRegistration? {
        try db.row(RegistrationQuery.one, [hub, id.text]) { StoredRegistration(row: $0) } ?? nil
    }

    /// The registrations with the given ordinals that exist and can be shown, in the order of the ordinals.
    package func registrations(ordinals: [Ordinal]) throws -> [StoredRegistration] {
        try db.rows(RegistrationQuery.byOrdinals, [ordinals.json]) { StoredRegistration(row: $0) }
            .compactMap(\.self).filter(\.isReadable)
    }

    /// Registrations of a handle that can be shown, at most ``HubStore/maximumHandleRows``.
    package func registrations(hub: HubKey, handle: String) throws -> [StoredRegistration] {
        let arguments: StatementArguments = [hub, PushChannel.key(handle), 0, HubStore.maximumHandleRows]
        return try db.rows(RegistrationQuery.byHandle, arguments) { StoredRegistration(row: $0) }.compactMap(\.self)
            .filter { $0.isReadable && $0.registration.pushChannel.isAddressed(by: handle) }
    }

    /// Ends those of the given registrations that carry a tag and belong to no installation.
    package func end(ordinals: [Ordinal], tagged tag: Tag, hub: HubKey, at: Timestamp) throws -> [TargetChange] {
        try ordinals.compactMap { ordinal in
            let found = try db.row(RegistrationQuery.alone, [ordinal]) { StoredRegistration(row: $0) } ?? nil
            guard let found, found.registration.tags.contains(tag) else { return nil }
            return try delete(found, tombstone: true, hub: hub, at: at)
        }
    }

    /// Stores a new registration, or replaces `current`, which belongs to no installation.
    ///
    /// `writer` is `nil` for a holder of Manage.
    package func put(
        _ registration: Registration,
        replacing current: StoredRegistration?,
        writer: ListenWriter? = nil,
        hub: HubKey,
        at: Timestamp
    ) throws -> (stored: StoredRegistration, change: TargetChange) {
        var registration = registration
        registration.etag = (current?.registration.etag ?? 0) + 1
        let top = try top()
        var isSame = false
        if let current {
            var unwritten = current.registration
            unwritten.etag = registration.etag
            unwritten.expirationTime = registration.expirationTime
            // Texts are equal in any form of Unicode, but handles are looked up by their bytes.
            isSame = unwritten == registration && current.registration.pushChannel.key == registration.pushChannel.key
            if !isSame { try keepFormer(current, hub: hub, through: top) }
        }
        let expiresAt = registration.expirationTime.map { Timestamp($0) }
        let (tags, record) = (registration.tags.joined, RegistrationRecord(registration).encoded)
        let charge = Charge.ofRegistration(tags: tags, record: record, writer: writer)
        if let current, isSame {
            try execute(
                RegistrationQuery.renew,
                [registration.etag, tags, record, at, expiresAt, charge, writer?.text, current.ordinal]
            )
        } else {
            let columns: Columns = [
                "etag": registration.etag, "platform": registration.platform.rawValue,
                "isTemplate": registration.template != nil, "tags": tags,
                "handleKey": registration.pushChannel.key, "record": record, "changedAfter": top,
                "updatedAt": at, "expiresAt": expiresAt, "charge": charge, "writer": writer?.text,
            ]
            if let current {
                try update("registration", columns, where: "ordinal", is: current.ordinal)
            } else {
                let first: Columns = [
                    "hubID": hub, "registrationID": registration.id.text, "createdAfter": top,
                    "createdAt": at,
                ]
                try insert(into: "registration", first, columns)
            }
        }
        var stored = StoredRegistration(
            ordinal: current?.ordinal ?? Ordinal(rawValue: db.lastInsertedRowID),
            registration: registration,
            installation: nil,
            createdAt: current?.createdAt ?? at,
            updatedAt: at,
            changedAfter: isSame ? current?.changedAfter ?? top : top,
            createdAfter: current?.createdAfter ?? top
        )
        stored.charge = charge
        stored.writer = writer
        return (stored, TargetChange(old: current?.target, new: stored.target))
    }

    /// Removes a registration that belongs to no installation.
    ///
    /// With `tombstone`, its id cannot be registered for a while, so that its owner learns that it has ended.
    package func delete(
        _ current: StoredRegistration,
        tombstone: Bool,
        hub: HubKey,
        at: Timestamp
    ) throws -> TargetChange {
        try keepFormer(current, hub: hub, through: top())
        try execute("DELETE FROM registration WHERE ordinal = ?", [current.ordinal])
        if tombstone { try retire(current.registration.id.text, hub: hub, at: at) }
        return TargetChange(old: current.target, new: nil)
    }

    /// Stores a tombstone for an id that ended without a request of its owner.
    private func retire(_ id: String, hub: HubKey, at: Timestamp) throws {
        try execute("INSERT OR REPLACE INTO tombstone VALUES (?, ?, ?)", [hub, id, at])
    }

    /// Removes the tombstone of an id.
    package func revive(_ id: RegistrationID, hub: HubKey) throws {
        try execute("DELETE FROM tombstone WHERE hubID = ? AND registrationID = ?", [hub, id.text])
    }

    /// True if the registration with this id has expired, or has ended with its installation.
    package func hasEnded(hub: HubKey, id: RegistrationID) throws -> Bool {
        try db.value(RegistrationQuery.tombstone, [hub, id.text]) ?? false
    }

    /// Maximum number of tombstones of all hubs: clients that create and delete again and again must not fill the disk.
    package static let maximumTombstones = 1_000_000

    /// Drops tombstones from before an instant, and the oldest beyond `limit`.
    package func dropTombstones(notedBefore cutoff: Timestamp, limit: Int = Self.maximumTombstones) throws {
        try execute("DELETE FROM tombstone WHERE at < ?", [cutoff])
        try execute(RegistrationQuery.boundTombstones, [limit - 1])
    }

    /// Drops former states that no message of the log needs any more.
    func dropFormerRegistrations(through sequence: LogSequence) throws {
        try execute("DELETE FROM formerRegistration WHERE throughSequence <= ?", [sequence])
    }

    /// Stores the former state of a registration if a message came while it was in force.
    private func keepFormer(_ current: StoredRegistration, hub: HubKey, through: LogSequence) throws {
        guard current.isReadable else { return }
        let last: LogSequence = try db.value(RegistrationQuery.lastMessage, [hub]) ?? 0
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

// MARK: - Registrations of installations

extension Transaction {
    /// Brings the registrations of an installation in line with it.
    ///
    /// Unchanged registrations keep their ETags, so that a client can still change them with the ETag that it has read.
    /// `former` is `nil` for a new installation. If the change is the deletion of one registration, `deleted` is its id.
    ///
    /// - Returns: A change for each registration, including unchanged ones.
    func materialise(
        _ installation: Installation,
        replacing former: Installation?,
        charge: Int,
        writer: ListenWriter?,
        ordinal: Ordinal,
        hub: HubKey,
        at: Timestamp,
        deleted: RegistrationID?
    ) throws -> [TargetChange] {
        var old = try parts(ofInstallation: ordinal)
        let top = try top()
        var changes: [TargetChange] = []
        for part in installation.parts {
            let (text, tags) = (part.text, installation.tags(of: part).joined)
            let channel = installation[tile: part.tile]?.pushChannel
            let known = old.lastIndex { $0.text == text }.map { old.remove(at: $0) }
            let charge = part == .main ? charge : 0
            let writer = charge > 0 ? writer : nil
            var new = Target(
                ordinal: known?.target.ordinal ?? 0,
                platform: installation.platform,
                isTemplate: part.template != nil,
                tags: tags,
                installation: ordinal,
                isMain: part == .main,
                charge: charge,
                writer: writer
            )
            // Tags are equal in any case, but shown as they were written.
            if let known, known.target.tags == tags,
                let before = former?.registration(of: part, id: known.id, etag: 0),
                before == installation.registration(of: part, id: known.id, etag: 0)
            {
                if known.target.charge != charge || known.target.writer != new.writer {
                    try execute(RegistrationQuery.charge, [charge, writer?.text, new.ordinal])
                }
                changes.append(TargetChange(old: known.target, new: new))
                continue
            }
            // The secret of a 'stream' installation is not a handle.
            let key = installation.platform == .stream ? nil : channel?.key
            let expiresAt = installation.expirationTime.map { Timestamp($0) }
            let columns: Columns = [
                "etag": known.map { $0.etag + 1 } ?? 1, "platform": installation.platform.rawValue,
                "tags": tags, "handleKey": key, "changedAfter": top, "updatedAt": at,
                "expiresAt": expiresAt, "charge": charge, "writer": writer?.text,
            ]
            if let known {
                try update("registration", columns, where: "ordinal", is: known.target.ordinal)
            } else {
                let first: Columns = [
                    "hubID": hub, "registrationID": RegistrationID.random().text,
                    "isTemplate": part.template != nil, "installation": ordinal, "part": text,
                    "createdAfter": top, "createdAt": at,
                ]
                try insert(into: "registration", first, columns)
                new.ordinal = Ordinal(rawValue: db.lastInsertedRowID)
            }
            changes.append(TargetChange(old: known?.target, new: new))
        }
        return try changes + old.map { try end($0, hub: hub, at: at, deleted: deleted) }
    }

    /// Ends the registrations of an installation that is removed.
    ///
    /// If the change is the deletion of one registration, `deleted` is its id.
    func endRegistrations(
        ofInstallation ordinal: Ordinal,
        hub: HubKey,
        at: Timestamp,
        deleted: RegistrationID?
    ) throws -> [TargetChange] {
        try parts(ofInstallation: ordinal).map { try end($0, hub: hub, at: at, deleted: deleted) }
    }

    /// The holder of Listen who has written an installation; `nil` for Manage.
    package func writer(ofInstallation ordinal: Ordinal) throws -> ListenWriter? {
        try parts(ofInstallation: ordinal).lazy.compactMap(\.target.writer).first
    }

    private struct Part {
        /// Its ``InstallationPart/text``.
        let text: String
        let id: RegistrationID
        let etag: Int
        let target: Target
    }

    /// The registrations of an installation; those that differ in SQLite can have equal texts in Swift.
    private func parts(ofInstallation ordinal: Ordinal) throws -> [Part] {
        typealias Place = RegistrationQuery.TargetColumn
        return try db.rows(RegistrationQuery.ofInstallation, [ordinal]) { row in
            Part(
                text: row[Place.part],
                id: try RegistrationID(row[Place.registrationID]),
                etag: row[Place.etag],
                target: Target(row: row)
            )
        }
    }

    private func end(_ part: Part, hub: HubKey, at: Timestamp, deleted: RegistrationID?) throws -> TargetChange {
        try execute("DELETE FROM registration WHERE ordinal = ?", [part.target.ordinal])
        // No client has ever seen the ids of agents' registrations.
        if part.id != deleted, part.target.platform != .stream { try retire(part.id.text, hub: hub, at: at) }
        return TargetChange(old: part.target, new: nil)
    }
}
