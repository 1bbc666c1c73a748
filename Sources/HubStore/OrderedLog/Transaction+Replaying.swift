import Foundation
import GRDB
import HubRouting
import SQLiteFiles

extension Transaction {
    /// True if the database has a place in an ordered log that several nodes share.
    func followsLog() throws -> Bool { try db.tableExists("logPlace") && logPlace() != .beginning }

    /// The last entry of the ordered log that this database contains.
    func logPlace() throws -> LogPlace {
        let place = try db.row("SELECT number, entry FROM logPlace") { row in
            EntryID(row["entry"] as Data).map {
                LogPlace(number: UInt64(bitPattern: row["number"] as Int64), entry: $0)
            }
        }
        return (place ?? nil) ?? .beginning
    }

    /// The name of the newest epoch, which names the log that the database follows.
    func newestEpoch() throws -> String? { try db.value("SELECT name FROM epoch ORDER BY number DESC LIMIT 1") }

    func set(_ place: LogPlace) throws {
        try executeLocally(
            "INSERT OR REPLACE INTO logPlace VALUES (1, ?, ?)",
            [Int64(bitPattern: place.number), Data(place.entry.bytes)]
        )
    }

    /// Replays the statements of an entry that was recorded on an equal database.
    ///
    /// - Returns: The complete effects of the entry; none unless `readsEffects`.
    /// - Throws: ``OrderedLogError`` if the entry does not follow the last one, or has other results here than where it
    ///   was recorded.
    func replay(_ placed: PlacedEntry, readsEffects: Bool) throws -> [NamespaceEffect] {
        let entry = placed.entry
        guard try entry.previous == logPlace().entry else { throw OrderedLogError.forked(number: placed.number) }
        var reader = try EffectReader(before: readsEffects ? entry.effects : [], self)
        for statement in entry.statements {
            try executeLocally(statement.sql, statement.values)
            guard db.changesCount == statement.changes else {
                throw OrderedLogError.diverged(number: placed.number, sql: statement.sql)
            }
        }
        try set(placed.place)
        return try reader.effects()
    }
}
