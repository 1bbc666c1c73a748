import Formats
import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

extension Transaction {
    /// Adds what happened at a hub to the figures of the minute and of the hour that contain a time.
    package func add(_ figures: HubFigures, hub: HubKey, at time: Timestamp) throws {
        for span in HubFigures.Span.allCases {
            let at = span.start(of: time)
            let stored: String? = try db.value(FigureQuery.one, [hub, span.rawValue, at])
            let all = stored.flatMap(FigureQuery.decode)?.adding(figures) ?? figures
            try executeLocally(FigureQuery.put, [hub, span.rawValue, at, try JSONEncoder.sorted.text(all)])
        }
    }

    /// Stores the times of messages at streams of this node.
    package func add(_ times: [LogSequence: StreamTimes]) throws {
        for (sequence, times) in times.sorted(by: { $0.key < $1.key }) {
            try executeLocally(
                FigureQuery.putTimes,
                [sequence, times.first.milliseconds, times.last.milliseconds]
            )
        }
    }

    /// Deletes figures that are older than their span is kept, and those of deleted hubs.
    package func dropFigures(at now: Timestamp) throws {
        for span in HubFigures.Span.allCases {
            try executeLocally(FigureQuery.dropOld, [span.rawValue, now - span.kept])
        }
        try executeLocally(FigureQuery.dropForeign, [])
        try executeLocally(FigureQuery.dropTimes, [])
    }
}

extension HubStore {
    /// The figures of a hub since a time, oldest first; spans in which nothing changed have none.
    package func figures(
        hub: HubKey,
        _ span: HubFigures.Span,
        since: Timestamp
    ) async throws -> [(at: Timestamp, figures: HubFigures)] {
        try await rows(FigureQuery.list, [hub, span.rawValue, since]) { row in
            (at: row[0] as Timestamp, figures: FigureQuery.decode(row[1]))
        }
        .compactMap { row in row.figures.map { (row.at, $0) } }
    }

    /// The times of a message at streams of this node; `nil` if they are not known.
    package func streamTimes(of sequence: LogSequence) async throws -> StreamTimes? {
        try await row(FigureQuery.times, [sequence]) { row in
            StreamTimes(first: .milliseconds(row[0] as Int64), last: .milliseconds(row[1] as Int64))
        }
    }
}

/// Statements about figures, in one place so that a test can check their query plans.
enum FigureQuery {
    static let one = "SELECT record FROM figure WHERE hubID = ? AND span = ? AND at = ?"
    static let put = "INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?)"
    static let list = "SELECT at, record FROM figure WHERE hubID = ? AND span = ? AND at >= ? ORDER BY at"
    static let dropOld = "DELETE FROM figure WHERE span = ? AND at < ?"
    static let dropForeign = "DELETE FROM figure WHERE hubID NOT IN (SELECT hubID FROM hub WHERE deletedAt IS NULL)"

    /// A stream may get a message long after the others.
    static let putTimes = """
        INSERT INTO streamTime VALUES (?, ?, ?) ON CONFLICT DO UPDATE
        SET firstAfter = min(firstAfter, excluded.firstAfter), lastAfter = max(lastAfter, excluded.lastAfter)
        """
    static let times = "SELECT firstAfter, lastAfter FROM streamTime WHERE sequence = ?"
    static let dropTimes = "DELETE FROM streamTime WHERE sequence <= (SELECT throughSequence FROM retention)"

    /// Reads a record; `nil` for one that cannot be read, which counts as none: a picture must not stop a page.
    static func decode(_ text: String) -> HubFigures? {
        try? JSONReader.decode(HubFigures.self, from: text, limits: .stored)
    }
}
