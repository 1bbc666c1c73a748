import Formats
import Foundation
import GRDB
package import HubProtocol
package import HubRouting

extension Transaction {
    /// Maximum number of publishers whose reports a hub keeps.
    package static let maximumPublishers = 100

    /// Replaces the report of a publisher, and deletes reports that have expired.
    ///
    /// - Throws: ``ProtocolError`` 403 if the hub already keeps reports of ``maximumPublishers`` others.
    package func setReport(_ report: PublisherReport, publisher: String, hub: HubKey, at: Timestamp) throws {
        try execute(PublisherQuery.dropExpired, [hub, at - PublisherReport.lifetime])
        let others = try Int.fetchOne(
            try db.cachedStatement(sql: PublisherQuery.others),
            arguments: [hub, publisher]
        )
        guard others ?? 0 < Self.maximumPublishers else {
            throw ProtocolError.quotaExceeded(
                """
                The hub keeps reports of at most \(Self.maximumPublishers) publishers; a publisher that stops \
                reporting is forgotten after 7 days.
                """
            )
        }
        let summary = PublisherSummary(report, of: publisher, at: at)
        try execute(
            PublisherQuery.put,
            [hub, publisher, at, try JSONEncoder.plain.text(summary), try JSONEncoder.plain.text(report)]
        )
    }
}

extension HubStore {
    /// The publishers that have reported to each hub since a time, ordered by name.
    package func publishers(since: Timestamp) async throws -> [HubKey: [PublisherSummary]] {
        try await pool.read { db in
            let rows = try Row.fetchCursor(try db.cachedStatement(sql: PublisherQuery.all), arguments: [since])
            var publishers: [HubKey: [PublisherSummary]] = [:]
            while let row = try rows.next() {
                let (hub, text): (HubKey, String) = (row["hubID"], row["summary"])
                // A later version may write other fields.
                guard let summary = try? JSONReader.decode(PublisherSummary.self, from: text, limits: .stored) else {
                    continue
                }
                publishers[hub, default: []].append(summary)
            }
            return publishers
        }
    }

    /// The publishers that have reported to a hub since a time, by name.
    package func publishers(hub: HubKey, since: Timestamp) async throws -> [PublisherSummary] {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: PublisherQuery.ofHub)
            return try String.fetchAll(statement, arguments: [hub, since]).compactMap {
                try? JSONReader.decode(PublisherSummary.self, from: $0, limits: .stored)
            }
        }
    }

    /// The last report of a publisher; `nil` if the publisher has not reported since a time.
    package func report(hub: HubKey, publisher: String, since: Timestamp) async throws -> PublisherStatus? {
        try await pool.read { db in
            let statement = try db.cachedStatement(sql: PublisherQuery.one)
            guard let row = try Row.fetchOne(statement, arguments: [hub, publisher, since]) else { return nil }
            let (text, at): (String, Timestamp) = (row["report"], row["receivedAt"])
            return PublisherStatus(
                publisher: publisher,
                reportedAt: at.wholeSecond,
                report: try JSONReader.decode(PublisherReport.self, from: text, limits: .stored)
            )
        }
    }
}

/// Statements about publishers' reports, in one place so that a test can check their query plans.
enum PublisherQuery {
    static let dropExpired = "DELETE FROM publisherReport WHERE hubID = ? AND receivedAt < ?"
    static let others = "SELECT count(*) FROM publisherReport WHERE hubID = ? AND publisher <> ?"
    static let put = "INSERT OR REPLACE INTO publisherReport VALUES (?, ?, ?, ?, ?)"
    static let all = """
        SELECT hubID, summary FROM publisherReport WHERE receivedAt >= ? ORDER BY hubID, publisher
        """
    static let ofHub = """
        SELECT summary FROM publisherReport WHERE hubID = ? AND receivedAt >= ? ORDER BY publisher
        """
    static let one = """
        SELECT receivedAt, report FROM publisherReport WHERE hubID = ? AND publisher = ? AND receivedAt >= ?
        """
}
