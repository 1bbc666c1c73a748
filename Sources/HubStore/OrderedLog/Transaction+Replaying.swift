import Foundation
import GRDB
import HubRouting

extension Transaction {
    /// The last entry of the ordered log that this database contains.
    func logPlace() throws -> LogPlace {
        let statement = try db.cachedStatement(sql: "SELECT number, entry FROM logPlace")
        guard let row = try Row.fetchOne(statement) else { return .beginning }
        let (number, bytes): (Int64, Data) = (row["number"], row["entry"])
        guard let entry = EntryID(bytes) else { return .beginning }
        return LogPlace(number: UInt64(bitPattern: number), entry: entry)
    }

    func set(_ place: LogPlace) throws {
        try executeLocally(
            "INSERT OR REPLACE INTO logPlace VALUES (1, ?, ?)",
            [Int64(bitPattern: place.number), Data(place.entry.bytes)]
        )
    }

    /// Replays the statements of an entry that was recorded on an equal database.
    ///
    /// - Returns: The complete effects of the entry.
    /// - Throws: ``OrderedLogError`` if the entry does not follow the last one, or has other results here than where it
    ///   was recorded.
    func replay(_ placed: PlacedEntry) throws -> [NamespaceEffect] {
        let entry = placed.entry
        guard try entry.previous == logPlace().entry else { throw OrderedLogError.forked(number: placed.number) }
        guard entry.schema <= Schema.version else {
            throw OrderedLogError.newerSchema(number: placed.number, node: entry.node)
        }
        var reader = try EffectReader(before: entry.effects, self)
        for statement in entry.statements {
            try executeLocally(statement.sql, statement.values)
            guard db.changesCount == statement.changes else {
                throw OrderedLogError.diverged(number: placed.number, sql: statement.sql)
            }
        }
        try set(placed.place)
        return try reader.effects(after: self)
    }
}
