import Foundation
import GRDB
import HubProtocol
import HubRouting

extension Schema {
    /// Adds the names of an installation's templates to their tags (protocol §4.3).
    ///
    /// A name with a reserved prefix is left out, because it is unknown whether it was chosen with Manage. The former
    /// choice of an installation stays in force for earlier messages.
    static func tagTemplateNames(_ db: Database, reservedTags: ReservedTagPrefixes) throws {
        let templates = "SELECT 1 FROM registration AS r WHERE r.installation = i.ordinal AND r.isTemplate"
        let rows = try Row.fetchCursor(
            db,
            sql: "SELECT ordinal, hubID, record FROM installation AS i WHERE EXISTS (\(templates)) ORDER BY ordinal"
        )
        let lastMessages = try lastMessages(db)
        while let row = try rows.next() {
            // An installation that cannot be read gets nothing until it registers again, as before.
            guard let former = try? Installation(record: row["record"]) else { continue }
            var installation = former
            installation.addTemplateNameTags { !reservedTags.contains($0) }
            guard installation != former else { continue }
            let (ordinal, hub): (Ordinal, HubKey) = (row["ordinal"], row["hubID"])
            let record = try installation.record
            try db.execute(
                sql: "UPDATE installation SET record = ? WHERE ordinal = ?",
                arguments: [record, ordinal]
            )
            let after = try note(record, of: ordinal, hub: hub, lastMessage: lastMessages[hub], db)
            for part in installation.parts where part.template != nil {
                try db.execute(
                    sql: """
                        UPDATE registration SET tags = ?1, etag = etag + 1, changedAfter = ?2
                        WHERE installation = ?3 AND part = ?4 AND tags <> ?1
                        """,
                    arguments: [installation.tags(of: part).joined, after, ordinal, part.text]
                )
            }
        }
    }

    /// The sequence and the time of each hub's last message.
    private static func lastMessages(_ db: Database) throws -> [HubKey: (sequence: LogSequence, at: Timestamp)] {
        let rows = try Row.fetchAll(
            db,
            sql: "SELECT hubID, max(sequence) AS sequence, at FROM log WHERE messageID IS NOT NULL GROUP BY hubID"
        )
        return rows.reduce(into: [:]) { $0[$1["hubID"]] = (sequence: $1["sequence"], at: $1["at"]) }
    }

    /// Stores the new choice of an installation, as a change of the installation does.
    ///
    /// - Returns: The sequence after which it is in force.
    private static func note(
        _ record: Data,
        of ordinal: Ordinal,
        hub: HubKey,
        lastMessage: (sequence: LogSequence, at: Timestamp)?,
        _ db: Database
    ) throws -> LogSequence {
        let inForce = try LogSequence.fetchOne(
            db,
            sql: "SELECT max(afterSequence) FROM owed WHERE ordinal = ?",
            arguments: [ordinal]
        )
        if let inForce, inForce >= lastMessage?.sequence ?? .start {
            try db.execute(
                sql: "UPDATE owed SET record = ? WHERE ordinal = ? AND afterSequence = ?",
                arguments: [record, ordinal, inForce]
            )
            return inForce
        }
        try db.execute(
            sql: "INSERT INTO log (hubID, at, ordinal) VALUES (?, ?, ?)",
            arguments: [hub, lastMessage?.at ?? Timestamp(milliseconds: 0), ordinal]
        )
        let sequence = LogSequence(rawValue: db.lastInsertedRowID)
        try db.execute(sql: "INSERT INTO owed VALUES (?, ?, ?)", arguments: [ordinal, sequence, record])
        return sequence
    }
}
