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

    /// Deletes figures that are older than their span is kept, and those of deleted hubs.
    package func dropFigures(at now: Timestamp) throws {
        for span in HubFigures.Span.allCases {
            try executeLocally(FigureQuery.dropOld, [span.rawValue, now - span.kept])
        }
        try executeLocally(FigureQuery.dropForeign, [])
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
}

/// Statements about figures, in one place so that a test can check their query plans.
enum FigureQuery {
    static let one = "SELECT record FROM figure WHERE hubID = ? AND span = ? AND at = ?"
    static let put = "INSERT OR REPLACE INTO figure VALUES (?, ?, ?, ?)"
    static let list = "SELECT at, record FROM figure WHERE hubID = ? AND span = ? AND at >= ? ORDER BY at"
    static let dropOld = "DELETE FROM figure WHERE span = ? AND at < ?"
    static let dropForeign = "DELETE FROM figure WHERE hubID NOT IN (SELECT hubID FROM hub WHERE deletedAt IS NULL)"

    /// Reads a record; `nil` for one that cannot be read, which counts as none: a picture must not stop a page.
    static func decode(_ text: String) -> HubFigures? {
        try? JSONReader.decode(HubFigures.self, from: text, limits: .stored)
    }
}
