import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

extension HubStore {
    /// Adds every registration of every hub to a result, in the order of their ordinals.
    ///
    /// Reads the whole table once, because the rows of all hubs are mixed in it.
    package func reduceTargets<Result: Sendable>(
        into result: Result,
        _ add: @Sendable (_ result: inout Result, _ hub: HubKey, Target) -> Void
    ) async throws -> Result {
        try await snapshot { db in
            var result = result
            let rows = try Row.fetchCursor(db, sql: RegistrationQuery.all)
            while let row = try rows.next() {
                add(&result, row[RegistrationQuery.TargetColumn.hubID], Target(row: row))
            }
            return result
        }
    }

    /// A registration that can be shown.
    package func registration(hub: HubKey, id: RegistrationID) async throws -> StoredRegistration? {
        let stored = try await read { try $0.registration(hub: hub, id: id) }
        return stored.flatMap { $0.isReadable ? $0 : nil }
    }

    /// Registrations in the order of their ids, after a given id.
    ///
    /// Registrations of platform `stream`, which is unknown to clients of the protocol, are left out.
    package func registrations(hub: HubKey, after id: String?, limit: Int) async throws -> RegistrationPage {
        let found = try await rows(RegistrationQuery.page, [hub, id ?? "", limit + 1]) { row in
            (id: row["registrationID"] as String, stored: StoredRegistration(row: row))
        }
        // A registration that cannot be shown must not end the list, so rows are counted.
        let page = found.prefix(limit)
        return RegistrationPage(
            registrations: page.compactMap(\.stored).filter(\.isReadable),
            next: found.count > limit ? page.last?.id : nil
        )
    }

    /// The registrations with the given ordinals that exist and can be shown, in the order of the ordinals.
    package func registrations(ordinals: [Ordinal]) async throws -> [StoredRegistration] {
        try await read { try $0.registrations(ordinals: ordinals) }
    }

    /// Maximum number of rows that one page of a handle reads: a client with Listen can give a thousand registrations the
    /// same handle.
    package static let maximumHandleRows = 1_000

    /// Registrations of a handle, which may have any number of them, in the order of their ordinals.
    ///
    /// Reads at most `maximumRows` rows, whether they are returned or not, and returns at most `limit`.
    ///
    /// - Returns: The registrations, and the ordinal to continue after; that is `nil` when there are no more rows.
    package func registrations(
        hub: HubKey,
        handle: String,
        after ordinal: Ordinal = 0,
        limit: Int,
        maximumRows: Int = maximumHandleRows,
        where isMeant: @Sendable (StoredRegistration) throws -> Bool = { _ in true }
    ) async throws -> (found: [StoredRegistration], next: Ordinal?) {
        try await snapshot { db in
            let statement = try db.cachedStatement(sql: RegistrationQuery.byHandle)
            let arguments: StatementArguments = [hub, PushChannel.key(handle), ordinal, maximumRows]
            let rows = try Row.fetchCursor(statement, arguments: arguments)
            var found: [StoredRegistration] = []
            var looked = 0
            var last = ordinal
            while found.count < limit, let row = try rows.next() {
                looked += 1
                last = row["ordinal"]
                guard
                    let stored = StoredRegistration(row: row), stored.isReadable,
                    stored.registration.pushChannel.isAddressed(by: handle), try isMeant(stored)
                else { continue }
                found.append(stored)
            }
            return (found, found.count == limit || looked == maximumRows ? last : nil)
        }
    }

    /// The registrations of an installation.
    package func registrations(ofInstallation ordinal: Ordinal) async throws -> [StoredRegistration] {
        try await rows(RegistrationQuery.fullOfInstallation, [ordinal]) { StoredRegistration(row: $0) }
            .compactMap(\.self)
    }

    /// Former states of the registrations of a handle that were in force when a message came; at most `limit`.
    package func formerRegistrations(hub: HubKey, handle: String, at sequence: LogSequence, limit: Int) async throws
        -> [FormerRegistration]
    {
        let arguments: StatementArguments = [hub, PushChannel.key(handle), sequence, limit]
        let former = try await rows(RegistrationQuery.former, arguments) { row -> FormerRegistration? in
            guard let registration = try? Registration(former: row) else { return nil }
            return FormerRegistration(
                registration: registration,
                ordinal: row["ordinal"],
                after: row["afterSequence"],
                through: row["throughSequence"]
            )
        }
        return former.compactMap(\.self).filter { $0.registration.pushChannel.isAddressed(by: handle) }
    }

    /// Expired registrations that belong to no installation.
    package func expiredRegistrations(hub: HubKey, at now: Timestamp, limit: Int) async throws -> [RegistrationID] {
        try await rows(RegistrationQuery.expired, [hub, now, limit]) { try? RegistrationID($0[0]) }.compactMap(\.self)
    }

    /// Expired installations.
    package func expiredInstallations(hub: HubKey, at now: Timestamp, limit: Int) async throws -> [InstallationID] {
        try await rows(RegistrationQuery.expiredInstallations, [hub, now, limit]) { try? InstallationID($0[0]) }
            .compactMap(\.self)
    }

    /// Installations of a hub whose ids have a prefix, in the order of their ids, after a given id; at most `limit`.
    ///
    /// Installations that cannot be read are left out of the page.
    ///
    /// - Returns: The installations, and the id to continue after; that is `nil` when there are no more.
    package func installations(
        hub: HubKey,
        prefix: String,
        after id: String?,
        limit: Int
    ) async throws -> (found: [Installation], next: String?) {
        // Above every ASCII character that can follow the prefix.
        let end = "\(prefix.lowercased())\u{7f}"
        return try await snapshot { db in
            let sql = """
                SELECT installationID, record FROM installation
                WHERE hubID = ? AND installationID > ? AND installationID < ? ORDER BY installationID LIMIT ?
                """
            let found: [(String, Installation?)] = try db.rows(sql, [hub, id ?? prefix.lowercased(), end, limit]) {
                ($0["installationID"], try? Installation(record: $0["record"]))
            }
            return (found.compactMap(\.1), found.count == limit ? found.last?.0 : nil)
        }
    }
}

/// Statements about registrations, in one place so that a test can check their query plans.
enum RegistrationQuery {
    /// The columns in the order in which ``StoredRegistration`` reads them; reading by name searches each row.
    enum Column: Int, ColumnPlaces {
        case ordinal, registrationID, etag, platform, isTemplate, tags, record, createdAfter, changedAfter
        case createdAt, updatedAt, expiresAt, part, installation, charge, writer
        /// Only in ``pushTargets``.
        case isFollowing
    }
    private static let names = """
        r.ordinal, r.registrationID, r.etag, r.platform, r.isTemplate, r.tags, r.record, r.createdAfter, r.changedAfter,
        r.createdAt, r.updatedAt, r.expiresAt, r.part, i.record, r.charge, r.writer
        """
    private static let source = "FROM registration AS r LEFT JOIN installation AS i ON i.ordinal = r.installation"
    private static let columns = "SELECT \(names) \(source)"
    enum TargetColumn: Int, ColumnPlaces {
        case ordinal, hubID, platform, isTemplate, tags, installation, part, charge, writer
        /// Only of ``ofInstallation``.
        case registrationID, etag
    }
    private static let targetNames = "ordinal, hubID, platform, isTemplate, tags, installation, part, charge, writer"
    private static let targetColumns = "SELECT \(targetNames) FROM registration"
    static let all = "\(targetColumns) ORDER BY ordinal"
    static let targets = "\(targetColumns) WHERE ordinal IN (SELECT value FROM json_each(?))"
    static let one = "\(columns) WHERE r.hubID = ? AND r.registrationID = ?"
    static let page = """
        \(columns) WHERE r.hubID = ? AND r.registrationID > ? AND r.platform <> 'stream'
        ORDER BY r.registrationID LIMIT ?
        """
    static let byOrdinals = """
        \(columns) WHERE r.ordinal IN (SELECT value FROM json_each(?)) ORDER BY r.ordinal
        """
    /// As ``byOrdinals``, with a column that is true if another registration with the same handle has a lower ordinal.
    static let pushTargets = """
        SELECT \(names), EXISTS (
            SELECT 1 FROM registration AS earlier
            WHERE earlier.hubID = r.hubID AND earlier.handleKey = r.handleKey AND earlier.ordinal < r.ordinal
        ) \(source)
        WHERE r.ordinal IN (SELECT value FROM json_each(?)) ORDER BY r.ordinal
        """
    static let alone = "\(columns) WHERE r.ordinal = ? AND r.installation IS NULL"
    static let byHandle =
        "\(columns) WHERE r.hubID = ? AND r.handleKey = ? AND r.ordinal > ? ORDER BY r.ordinal LIMIT ?"
    static let fullOfInstallation = "\(columns) WHERE r.installation = ? ORDER BY r.ordinal"
    /// Renews a registration that is registered again unchanged, as most are.
    ///
    /// The expiry is the only indexed column that it sets. It also sets tags and record, because equal ones may differ
    /// in case and in Unicode form.
    static let renew = """
        UPDATE registration SET etag = ?, tags = ?, record = ?, updatedAt = ?, expiresAt = ?, charge = ?,
            writer = ?
        WHERE ordinal = ?
        """
    static let ofInstallation = "SELECT \(targetNames), registrationID, etag FROM registration WHERE installation = ?"
    static let charge = "UPDATE registration SET charge = ?, writer = ? WHERE ordinal = ?"
    static let former = """
        SELECT ordinal, registrationID, throughSequence, platform, tags, record, afterSequence FROM formerRegistration
        WHERE hubID = ?1 AND handleKey = ?2 AND throughSequence >= ?3 AND afterSequence < ?3
        ORDER BY ordinal LIMIT ?4
        """
    static let lastFormer = """
        SELECT registrationID, platform, tags, record FROM formerRegistration
        WHERE ordinal = ? ORDER BY throughSequence DESC LIMIT 1
        """
    static let boundFormer = """
        DELETE FROM formerRegistration WHERE ordinal = ?1 AND throughSequence NOT IN (
            SELECT throughSequence FROM formerRegistration WHERE ordinal = ?1 ORDER BY throughSequence DESC LIMIT ?2)
        """
    /// `+hubID` keeps SQLite from using the index of the hub's ids, which would read every row although few expire.
    static let expired = """
        SELECT registrationID FROM registration
        WHERE expiresAt <= ?2 AND +hubID = ?1 AND installation IS NULL LIMIT ?3
        """
    static let expiredInstallations = """
        SELECT installationID FROM installation WHERE expiresAt <= ?2 AND +hubID = ?1 LIMIT ?3
        """
    static let tombstone = "SELECT 1 FROM tombstone WHERE hubID = ? AND registrationID = ?"
    static let boundTombstones = """
        DELETE FROM tombstone WHERE at < (SELECT at FROM tombstone ORDER BY at DESC LIMIT 1 OFFSET ?)
        """
    static let lastMessage = """
        SELECT sequence FROM log WHERE hubID = ? AND messageID IS NOT NULL ORDER BY sequence DESC LIMIT 1
        """
}

extension Target {
    /// Reads a row of ``RegistrationQuery/TargetColumn``.
    init(row: Row) {
        typealias Place = RegistrationQuery.TargetColumn
        let part: String? = row[Place.part]
        self.init(
            ordinal: row[Place.ordinal],
            platform: row[Place.platform],
            isTemplate: row[Place.isTemplate],
            tags: row[Place.tags],
            installation: row[Place.installation],
            isMain: part == "",
            charge: row[Place.charge],
            writer: (row[Place.writer] as String?).map { ListenWriter(text: $0) }
        )
    }
}

extension Registration {
    /// Reads the row of a former registration.
    init(former row: Row) throws {
        self.init(
            id: try RegistrationID(row["registrationID"]),
            etag: 0,
            tags: try RegistrationTexts.tags(row["tags"]),
            platform: row["platform"],
            record: try RegistrationRecord(row["record"])
        )
    }

    init(id: RegistrationID, etag: Int, tags: [Tag], platform: Platform, record: RegistrationRecord) {
        self.init(
            id: id,
            etag: etag,
            tags: tags,
            pushVariables: record.variables ?? [:],
            platform: platform,
            pushChannel: record.channel,
            secondaryTileName: record.tile,
            template: record.template,
            isFcm: record.isFcm
        )
    }
}

extension StoredRegistration {
    private typealias Place = RegistrationQuery.Column

    /// `nil` for a part of an installation that has no channel, or that cannot be read.
    init?(row: Row, texts: RegistrationTexts? = nil) {
        guard let id = try? RegistrationID(row[Place.registrationID]) else { return nil }
        let etag: Int = row[Place.etag]
        if let record: Data = row[Place.installation] {
            guard let installation = try? Installation(record: record), let text: String = row[Place.part],
                let part = installation.parts.first(where: { $0.text == text }),
                let registration = installation.registration(of: part, id: id, etag: etag)
            else { return nil }
            self.init(row: row, registration, installation: (installation.id, part))
            installationTags = installation.parts.flatMap { installation.tags(of: $0) }
            isChannelExpired = installation[tile: part.tile]?.pushChannelExpired == true
            return
        }
        let (platform, tags): (Platform, String) = (row[Place.platform], row[Place.tags])
        let known = try? row.withUnsafeData(atIndex: Place.record.rawValue) { json in
            let texts = texts ?? RegistrationTexts()
            return Registration(
                id: id,
                etag: etag,
                tags: try texts.tags(tags),
                platform: platform,
                record: try texts.record(json ?? Data())
            )
        }
        var registration = known ?? Registration(id: id, etag: etag, platform: platform, pushChannel: .handle(""))
        let expiresAt: Timestamp? = row[Place.expiresAt]
        registration.expirationTime = expiresAt?.date
        self.init(row: row, registration, installation: nil)
        guard known == nil else { return }
        unreadable = Target(
            ordinal: ordinal,
            platform: platform,
            isTemplate: row[Place.isTemplate],
            tags: tags,
            installation: nil,
            isMain: false,
            charge: charge,
            writer: writer
        )
    }

    private init(
        row: Row,
        _ registration: Registration,
        installation: (id: InstallationID, part: InstallationPart)?
    ) {
        self.init(
            ordinal: row[Place.ordinal],
            registration: registration,
            installation: installation,
            createdAt: row[Place.createdAt],
            updatedAt: row[Place.updatedAt],
            changedAfter: row[Place.changedAfter],
            createdAfter: row[Place.createdAfter]
        )
        charge = row[Place.charge]
        if charge > 0 { writer = (row[Place.writer] as String?).map { ListenWriter(text: $0) } ?? .unknown }
    }
}
