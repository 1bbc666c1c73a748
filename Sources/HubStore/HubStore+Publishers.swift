import Formats
import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

extension Transaction {
    /// Maximum number of publishers whose reports a hub keeps.
    package static let maximumPublishers = 100

    /// Replaces the report of a publisher, and deletes reports that have expired.
    ///
    /// - Throws: ``ProtocolError`` 403 if the hub already keeps reports of ``maximumPublishers`` others.
    package func setReport(_ report: PublisherReport, publisher: String, hub: HubKey, at: Timestamp) throws {
        try execute(PublisherQuery.dropExpired, [hub, at - PublisherReport.lifetime])
        let others: Int = try db.value(PublisherQuery.others, [hub, publisher]) ?? 0
        guard others < Self.maximumPublishers else {
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
        for handled in report.handled ?? [] {
            try execute(PublisherQuery.setOutcome, [handled.outcome, handled.number, hub, publisher])
        }
    }

    /// Stores a request of an operator to a publisher, and deletes older requests beyond ``PublisherRequest/maximumCount`` and
    /// those that have expired as reports do.
    ///
    /// - Returns: The request with its number.
    package func add(
        _ request: PublisherRequest,
        publisher: String,
        hub: HubKey,
        at: Timestamp
    ) throws -> PublisherRequest {
        try execute(
            PublisherQuery.putRequest,
            [hub, publisher, at, request.action, request.url, request.category]
        )
        var added = request
        (added.number, added.askedAt) = (db.lastInsertedRowID, at.wholeSecond)
        try execute(
            PublisherQuery.dropRequests,
            [hub, publisher, at - PublisherReport.lifetime, PublisherRequest.maximumCount - 1]
        )
        return added
    }
}

extension HubStore {
    /// The publishers that have reported to each hub since a time, ordered by name.
    package func publishers(since: Timestamp) async throws -> [HubKey: [PublisherSummary]] {
        let all: [(HubKey, PublisherSummary?)] = try await rows(PublisherQuery.all, [since]) {
            ($0["hubID"], PublisherSummary(stored: $0["summary"]))
        }
        return all.reduce(into: [:]) { publishers, row in
            if let summary = row.1 { publishers[row.0, default: []].append(summary) }
        }
    }

    /// The publishers that have reported to a hub since a time, by name.
    package func publishers(hub: HubKey, since: Timestamp) async throws -> [PublisherSummary] {
        try await rows(PublisherQuery.ofHub, [hub, since]) { PublisherSummary(stored: $0[0]) }.compactMap(\.self)
    }

    /// The requests of operators to a publisher since a time, oldest first.
    package func requests(hub: HubKey, publisher: String, since: Timestamp) async throws -> [PublisherRequest] {
        try await rows(PublisherQuery.requests, [hub, publisher, since]) { row in
            PublisherRequest(
                number: row["requestID"],
                askedAt: (row["askedAt"] as Timestamp).wholeSecond,
                action: row["action"],
                url: row["url"],
                category: row["category"],
                outcome: row["outcome"]
            )
        }
    }

    /// The last report of a publisher; `nil` if the publisher has not reported since a time.
    package func report(hub: HubKey, publisher: String, since: Timestamp) async throws -> PublisherStatus? {
        try await row(PublisherQuery.one, [hub, publisher, since]) { row in
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
    static let putRequest = """
        INSERT INTO publisherRequest (hubID, publisher, askedAt, action, url, category) VALUES (?, ?, ?, ?, ?, ?)
        """
    static let setOutcome = """
        UPDATE publisherRequest SET outcome = ?
        WHERE requestID = ? AND hubID = ? AND publisher = ? AND outcome IS NULL
        """
    static let dropRequests = """
        DELETE FROM publisherRequest WHERE hubID = ?1 AND publisher = ?2 AND (askedAt < ?3 OR requestID < (
            SELECT requestID FROM publisherRequest WHERE hubID = ?1 AND publisher = ?2
            ORDER BY requestID DESC LIMIT 1 OFFSET ?4))
        """
    static let requests = """
        SELECT requestID, askedAt, action, url, category, outcome FROM publisherRequest
        WHERE hubID = ? AND publisher = ? AND askedAt >= ? ORDER BY requestID
        """
    static let one = """
        SELECT receivedAt, report FROM publisherReport WHERE hubID = ? AND publisher = ? AND receivedAt >= ?
        """
}

extension PublisherSummary {
    fileprivate init?(stored text: String) {
        guard let summary = try? JSONReader.decode(Self.self, from: text, limits: .stored) else { return nil }
        self = summary
    }
}
