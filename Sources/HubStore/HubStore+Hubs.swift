import Formats
import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

/// A hub with its description.
package struct StoredHub: Sendable, Equatable {
    package let record: HubRecord
    package var description: NotificationHubDescription
    package let createdAt: Timestamp
    package var updatedAt: Timestamp

    package var policy: HubPolicy {
        HubPolicy(
            rules: description.rules.map(\.rule),
            registrationLifetime: description.registrationTimeToLive.duration,
            isDisabled: description.isDisabled ?? false,
            credentials: description.credentials
        )
    }
}

/// The rules of all hubs, by hub number, and of the namespace, read in one snapshot.
package struct AllAccessRules: Sendable, Equatable {
    package var hubs: [HubKey: [AccessRule]] = [:]
    package var namespace: [AccessRule] = []
}

extension HubStore {
    /// The hubs in the order of their creation.
    package func storedHubs() async throws -> [StoredHub] { try await read { try $0.hubs() } }

    package func hub(id: HubKey) async throws -> StoredHub? { try await read { try $0.hub(id: id) } }

    package func allAccessRules() async throws -> AllAccessRules {
        try await read { transaction in
            var all = AllAccessRules()
            for row in try Row.fetchAll(transaction.db.cachedStatement(sql: HubQuery.rulesOfHubs)) {
                all.hubs[row["hubID"], default: []].append(AccessRule(row: row))
            }
            all.namespace = try transaction.namespaceRules()
            return all
        }
    }

    package func namespaceRules() async throws -> [AccessRule] { try await allAccessRules().namespace }

    /// Deleted hubs whose rows have not all been dropped.
    package func hubsToPurge() async throws -> [HubKey] {
        try await rows("SELECT hubID FROM hub WHERE deletedAt IS NOT NULL AND purgedAt IS NULL") { $0[0] }
    }
}

extension Transaction {
    package func hub(id: HubKey) throws -> StoredHub? { try db.row(HubQuery.hub, [id]) { try StoredHub(row: $0, db) } }

    /// Number of hubs.
    package func hubCount() throws -> Int { try db.value("SELECT count(*) FROM hub WHERE deletedAt IS NULL") ?? 0 }

    package func hasHub(named name: HubName) throws -> Bool {
        try db.value("SELECT 1 FROM hub WHERE name = ?", [name.text]) ?? false
    }

    /// Creates a hub.
    package func insertHub(_ name: HubName, _ description: NotificationHubDescription, at: Timestamp) throws
        -> StoredHub
    {
        try execute("INSERT INTO hub (name, createdAt) VALUES (?, ?)", [name.text, at])
        let record = HubRecord(id: HubKey(rawValue: db.lastInsertedRowID), name: name)
        let hub = StoredHub(record: record, description: description, createdAt: at, updatedAt: at)
        try update(hub)
        return hub
    }

    /// Creates a hub whose description consists of its rules.
    package func insertHub(_ name: HubName, rules: [AccessRule], at: Timestamp) throws -> HubRecord {
        let rules = rules.map { AuthorizationRule($0, createdAt: at, modifiedAt: at) }
        return try insertHub(name, NotificationHubDescription(rules: rules), at: at).record
    }

    /// Replaces a hub's description and its rules.
    ///
    /// Credentials that cannot be read because their key is missing stay until new ones are set: the key file may come
    /// back.
    package func update(_ hub: StoredHub) throws {
        let description = hub.description
        let setsCredentials = description.credentials.contains { $0.kind != .ownBrowserKeys }
        let keepsRemarks = try !setsCredentials && hasLostSecrets(hub.record.id)
        let isUnlimited = description.registrationTimeToLive == .unlimited
        try execute(
            "UPDATE hub SET updatedAt = ?, registrationUnits = ?, about = ifnull(?, about) WHERE hubID = ?",
            [
                hub.updatedAt, isUnlimited ? nil : description.registrationTimeToLive.units,
                keepsRemarks
                    ? nil : try sealed(try JSONEncoder.sorted.text(HubRemarks(description)), hub: hub.record.id),
                hub.record.id,
            ]
        )
        try execute("DELETE FROM accessRule WHERE hubID = ?", [hub.record.id])
        for (position, entry) in description.rules.enumerated() {
            let rule = entry.rule
            try insert(
                into: "accessRule",
                [
                    "hubID": hub.record.id, "name": rule.name, "primaryKey": rule.primaryKey,
                    "secondaryKey": rule.secondaryKey, "rights": rule.rights.rawValue, "position": position,
                    "createdAt": entry.createdAt, "modifiedAt": entry.modifiedAt,
                ]
            )
        }
    }

    /// Encrypts the credentials that an older version has stored unencrypted.
    package func sealSecrets() throws {
        for row in try Row.fetchAll(db, sql: HubQuery.unsealed) {
            let (hub, about): (HubKey, String) = (row["hubID"], row["about"])
            let sealed = try sealed(about, hub: hub)
            guard sealed != about else { continue }
            try execute("UPDATE hub SET about = ? WHERE hubID = ?", [sealed, hub])
        }
    }

    /// Hubs whose credentials were encrypted with another key.
    package func hubsWithLostSecrets() throws -> [HubRecord] {
        try db.rows(HubQuery.lostSecrets, [], HubRecord.init(row:))
    }

    /// True if a hub has credentials that were encrypted with another key.
    private func hasLostSecrets(_ hub: HubKey) throws -> Bool { try db.value(HubQuery.hasLostSecrets, [hub]) ?? false }

    /// Encrypts a text of a hub.
    ///
    /// Each result differs, so statements receive it as a value and can be repeated on another database.
    private func sealed(_ text: String, hub: HubKey) throws -> String? { try db.value(HubQuery.sealed, [text, hub]) }

    /// Adds a rule to a hub, or replaces the rule with the same name.
    package func put(_ rule: AccessRule, hub: HubKey, at: Timestamp) throws {
        try execute(
            """
            INSERT INTO accessRule (hubID, name, primaryKey, secondaryKey, rights, position, createdAt, modifiedAt)
            VALUES (?1, ?2, ?3, ?4, ?5,
                (SELECT ifnull(max(position), 0) + 1 FROM accessRule WHERE hubID = ?1), ?6, ?6)
            ON CONFLICT DO UPDATE SET primaryKey = excluded.primaryKey, secondaryKey = excluded.secondaryKey,
                rights = excluded.rights, modifiedAt = excluded.modifiedAt
            """,
            [hub, rule.name, rule.primaryKey, rule.secondaryKey, rule.rights.rawValue, at]
        )
    }

    /// Adds a rule to the namespace, or replaces the rule with the same name.
    package func putNamespaceRule(_ rule: AccessRule, at: Timestamp) throws {
        try execute(
            """
            INSERT INTO namespaceRule VALUES (?1, ?2, ?3, ?4, ?5, ?5)
            ON CONFLICT DO UPDATE SET primaryKey = excluded.primaryKey, secondaryKey = excluded.secondaryKey,
                rights = excluded.rights, modifiedAt = excluded.modifiedAt
            """,
            [rule.name, rule.primaryKey, rule.secondaryKey, rule.rights.rawValue, at]
        )
    }

    package func namespaceRules() throws -> [AccessRule] {
        try db.rows(HubQuery.namespaceRules, [], AccessRule.init(row:))
    }

    package func hubs() throws -> [StoredHub] {
        try db.rows("\(HubQuery.hubs) ORDER BY hubID") { try StoredHub(row: $0, db) }
    }
}

// MARK: - Deleting

extension Transaction {
    /// Deletes a hub's name and keys; ``purge(hub:limit:at:)`` drops its other rows.
    package func deleteHub(id: HubKey, at: Timestamp) throws {
        try execute(
            "UPDATE hub SET deletedAt = ?2, name = 'deleted:' || hubID, about = NULL, updatedAt = ?2 WHERE hubID = ?1",
            [id, at]
        )
        try execute("DELETE FROM accessRule WHERE hubID = ?", [id])
    }

    /// Drops about `limit` rows of a deleted hub.
    ///
    /// - Returns: True if no row is left.
    package func purge(hub: HubKey, limit: Int, at: Timestamp) throws -> Bool {
        guard try !dropTargetRows(of: hub, limit: limit) else { return false }
        for step in HubPurge.steps {
            // The rows of `owed` and the registrations of an installation go with it.
            let rows = step.table == "installation" ? max(1, limit / HubPurge.installationWeight) : limit
            if step.table == "log" { try discount(step, hub: hub, rows: rows) }
            try execute(step.delete, [hub, rows])
            guard db.changesCount == 0 else { return false }
        }
        try execute("UPDATE hub SET purgedAt = ? WHERE hubID = ? AND deletedAt IS NOT NULL", [at, hub])
        return true
    }

    /// Subtracts the rows that a step is about to drop from the count of the log's bytes.
    private func discount(_ step: HubPurge.Step, hub: HubKey, rows: Int) throws {
        _ = try countBytes()
        let bytes: Int64 = try db.value(HubPurge.bytes(step), [hub, rows]) ?? 0
        guard bytes > 0 else { return }
        try execute("UPDATE retention SET countedBytes = max(countedBytes - ?, 0)", [bytes])
    }
}

/// The tables with rows of a hub, in the order in which a deleted hub's rows are dropped; a test compares them with the
/// schema.
enum HubPurge {
    struct Step {
        let table: String
        /// Restricts the step to some rows; `nil` for all.
        var condition: String?
        /// Columns that identify a row among those of one hub, and that follow `hubID` in an index.
        let key: String
        /// A total order of one hub's rows that an index provides; `nil` for the order of ``key``.
        var order: String?

        fileprivate var rows: String {
            let condition = condition.map { " AND \($0)" } ?? ""
            return "SELECT \(key) FROM \(table) WHERE hubID = ?1\(condition) ORDER BY \(order ?? key) LIMIT ?2"
        }

        var delete: String {
            "DELETE FROM \(table) WHERE \(condition == nil ? "hubID = ?1 AND " : "")(\(key)) IN (\(rows))"
        }
    }

    /// Number of other rows whose removal costs as much as that of one installation.
    static let installationWeight = 10

    static let steps = [
        Step(table: "registration", key: "registrationID"),
        Step(
            table: "formerRegistration",
            key: "ordinal, throughSequence",
            order: "handleKey, ordinal, throughSequence"
        ),
        Step(table: "tombstone", key: "registrationID"),
        Step(table: "installation", key: "installationID"),
        Step(table: "log", condition: "messageID IS NOT NULL", key: "sequence"),
        Step(table: "log", condition: "ordinal IS NOT NULL", key: "sequence"),
        Step(table: "scheduledMessage", condition: "canceledAt IS NULL", key: "messageID", order: "dueAt, rowid"),
        Step(
            table: "scheduledMessage",
            condition: "canceledAt IS NOT NULL",
            key: "messageID",
            order: "canceledAt, rowid"
        ),
        Step(table: "idempotencyKey", key: "key"),
        Step(table: "category", key: "publisher, position"),
        Step(table: "publisherReport", key: "publisher"),
        // SQLite 3.40 finds no row by a list of values with a rowid among them.
        Step(table: "publisherRequest", key: "requestID", order: "publisher, requestID"),
        Step(table: "alarmState", key: "hubID"),
        Step(table: "accessRule", key: "name"),
        Step(table: "job", key: "jobID"),
    ]

    /// Bytes that the rows of a step contribute to the count of the log.
    fileprivate static func bytes(_ step: Step) -> String {
        "SELECT sum(\(MessageRecord.rowBytes)) FROM log WHERE sequence IN (\(step.rows))"
    }
}

// MARK: - Rows

/// Statements about hubs, in one place so that a test can check their query plans; hubs are few.
enum HubQuery {
    static let hubs = """
        SELECT hubID, name, createdAt, updatedAt, registrationUnits, opened(about, hubID) AS about FROM hub
        WHERE deletedAt IS NULL
        """
    static let lostSecrets = """
        SELECT hubID, name FROM hub WHERE deletedAt IS NULL AND about IS NOT NULL AND opened(about, hubID) IS NULL
        """
    static let hasLostSecrets = "SELECT about IS NOT NULL AND opened(about, hubID) IS NULL FROM hub WHERE hubID = ?"
    static let unsealed = """
        SELECT hubID, about FROM hub WHERE about IS NOT NULL AND about NOT LIKE 'sealed:%' ORDER BY hubID
        """
    static let sealed = "SELECT sealed(?, ?)"
    static let hub = "\(hubs) AND hubID = ?"
    static let rulesOfHub = """
        SELECT name, primaryKey, secondaryKey, rights, createdAt, modifiedAt FROM accessRule WHERE hubID = ?
        ORDER BY position, rights, name
        """
    static let rulesOfHubs = "SELECT hubID, name, primaryKey, secondaryKey, rights FROM accessRule ORDER BY hubID, name"
    static let namespaceRules = "SELECT name, primaryKey, secondaryKey, rights FROM namespaceRule ORDER BY name"
}

extension StoredHub {
    fileprivate init(row: Row, _ db: Database) throws {
        let (id, createdAt): (HubKey, Timestamp) = (row["hubID"], row["createdAt"])
        let about: String? = row["about"]
        let units: Int64? = row["registrationUnits"]
        let rules = try db.rows(HubQuery.rulesOfHub, [id]) { row in
            let (made, modified): (Timestamp?, Timestamp?) = (row["createdAt"], row["modifiedAt"])
            return AuthorizationRule(
                AccessRule(row: row),
                createdAt: made ?? createdAt,
                modifiedAt: modified ?? made ?? createdAt
            )
        }
        let remarks = try about.map { try HubRemarks(encoded: $0) } ?? HubRemarks(NotificationHubDescription())
        self.init(
            record: HubRecord(id: id, name: try HubName(row["name"])),
            description: NotificationHubDescription(
                registrationTimeToLive: units.map { RegistrationTimeToLive(units: $0) } ?? .unlimited,
                credentials: remarks.credentials,
                rules: rules,
                userMetadata: remarks.userMetadata,
                isDisabled: remarks.isDisabled
            ),
            createdAt: createdAt,
            updatedAt: row["updatedAt"] ?? createdAt
        )
    }
}

/// The parts of a hub's description without a column of their own.
///
/// Credentials are secrets, as the rules are.
private struct HubRemarks: Codable {
    let credentials: [PlatformCredential]
    let userMetadata: String?
    let isDisabled: Bool?

    init(_ description: NotificationHubDescription) {
        credentials = description.credentials
        userMetadata = description.userMetadata
        isDisabled = description.isDisabled
    }

    init(encoded: String) throws {
        self = try JSONReader.decode(HubRemarks.self, from: encoded, limits: .stored)
    }
}

extension HubRecord {
    init(row: Row) throws { self.init(id: row["hubID"], name: try HubName(row["name"])) }
}

extension AccessRule {
    init(row: Row) {
        self.init(
            name: row["name"],
            primaryKey: row["primaryKey"],
            secondaryKey: row["secondaryKey"],
            rights: AccessRights(rawValue: row["rights"])
        )
    }
}
