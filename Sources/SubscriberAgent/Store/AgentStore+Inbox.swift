import Formats
import GRDB
import Glibc
import HostSystem
import HubProtocol
import SQLiteFiles

/// The inbox: messages that arrived, and the results of their handlers.
extension AgentStore {
    // MARK: Arrivals

    /// Adds events to the inbox and moves the cursor past them, all or nothing.
    ///
    /// An arrival with a known id and template is skipped. Once another process has unsubscribed, the cursor stays as
    /// it is, also if there is a new subscription: that one must not begin at a position of this one.
    ///
    /// - Parameters:
    ///   - arrivals: The events, in the order of the stream.
    ///   - cursor: The last event id at or before the end of the arrivals; `nil` leaves the cursor unchanged.
    ///   - generation: ``AgentRecord/generation`` of the record with which the stream was opened.
    ///   - now: The time of arrival.
    /// - Returns: The new arrivals.
    /// - Throws: ``SQLiteFiles/DatabaseFileError``; nothing is stored then.
    @discardableResult
    func receive(
        _ arrivals: [Arrival],
        cursor: String?,
        of generation: Int64,
        at now: Timestamp
    ) async throws(DatabaseFileError) -> [Arrival] {
        try await write { database in
            var taken: [Arrival] = []
            for arrival in arrivals {
                try database.execute(
                    "INSERT OR IGNORE INTO mark (id, template) VALUES (?, ?)",
                    [arrival.id, arrival.template]
                )
                guard database.changesCount == 1 else { continue }
                let ordinal = database.lastInsertedRowID
                if let secureID = arrival.secureID {
                    try Self.insertSecure(arrival, secureID, ordinal: ordinal, at: now, in: database)
                    taken.append(arrival)
                    continue
                }
                // A message without text is in another language, and does not replace messages that were shown.
                let isShown = arrival.kind == .message && arrival.emptiness == nil
                let relation = isShown ? StoryRelation(body: arrival.body) : StoryRelation()
                let state: InboxRecord.State =
                    arrival.failure != nil ? .failed : arrival.emptiness != nil ? .done : .pending
                let first = try Self.sameVersion(as: arrival, relation, at: now, in: database)
                try database.execute(
                    """
                    INSERT INTO inbox
                        (ordinal, kind, id, template, body, title, message, link, category, receivedAt, state, reason,
                        isEmpty, story, version, sameAs)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                    """,
                    [
                        ordinal, arrival.kind.rawValue, arrival.id, arrival.template, Self.whole(arrival.body),
                        Self.whole(arrival.content.title), Self.whole(arrival.content.message),
                        Self.whole(arrival.content.link), Self.whole(arrival.content.category),
                        now, state.rawValue, arrival.failure ?? arrival.emptiness,
                        arrival.emptiness != nil, relation.story, relation.version, first,
                    ]
                )
                // The first of them has replaced others already, and would be replaced itself.
                if !relation.replaces.isEmpty, first == nil {
                    try Self.supersede(by: relation, before: ordinal, in: database)
                }
                taken.append(arrival)
            }
            if let cursor {
                try database.execute(
                    "UPDATE agent SET cursor = ? WHERE categories IS NOT NULL AND generation = ?",
                    [cursor, generation]
                )
            }
            return taken
        }
    }

    /// Returns a text without NUL, which would end the text in the database and in a handler's environment.
    static func whole(_ text: String) -> String {
        text.utf8.contains(0) ? text.replacing("\0", with: "\u{FFFD}") : text
    }

    /// Returns the number of rows that no handler has finished.
    func unsettledCount() async throws(DatabaseFileError) -> Int {
        try await read { try $0.count("inbox WHERE \(Self.unsettled)") }
    }

    /// Deletes settled rows and marks above their limits, oldest first.
    func purge() async throws(DatabaseFileError) {
        let bounds = bounds
        try await write { database in
            try database.execute(
                """
                DELETE FROM inbox WHERE state IN ('done', 'failed') AND ordinal <= (
                    SELECT max(ordinal) FROM (
                        SELECT ordinal, row_number() OVER newest AS place, sum(length(body)) OVER newest AS held
                        FROM inbox WHERE state IN ('done', 'failed') WINDOW newest AS (ORDER BY ordinal DESC)
                    ) WHERE place > ? OR held > ?)
                """,
                [bounds.settled, bounds.settledBytes]
            )
            try database.execute(
                """
                DELETE FROM mark WHERE ordinal <= (SELECT max(ordinal) FROM mark) - ?
                    AND ordinal NOT IN (SELECT ordinal FROM inbox)
                    AND ordinal NOT IN (SELECT ordinal FROM secure)
                """,
                [bounds.marks]
            )
        }
    }

    // MARK: Handling

    /// A handler's result for a row.
    enum Settlement: Sendable, Equatable {
        case done(Int64)
        /// Given up, with the reason.
        case failed(Int64, reason: String)
        /// This attempt failed and another will follow; the row stays started, because the attempt may have done its
        /// work.
        case retrying(Int64, reason: String)
        /// Not begun: as if the row had not been started.
        case released(Int64)
    }

    /// Settles one row and marks the next as started, in one transaction: after a stop at any point, at most one row
    /// has a handler that may have done its work.
    ///
    /// - Returns: The row that was started; `nil` if none waits.
    func startNext(settling settlement: Settlement? = nil) async throws(DatabaseFileError) -> InboxRecord? {
        try await write { database in
            if let settlement { try Self.apply(settlement, to: database) }
            guard let ordinal: Int64 = try database.value(Self.nextSQL) else { return nil }
            try database.execute(
                "UPDATE inbox SET state = 'started', attempts = attempts + 1 WHERE ordinal = ?",
                [ordinal]
            )
            return try database.row(
                "SELECT \(Self.columns) FROM inbox WHERE ordinal = ?",
                [ordinal],
                InboxRecord.init(row:)
            )
        }
    }

    func settle(_ settlement: Settlement) async throws(DatabaseFileError) {
        try await write { try Self.apply(settlement, to: $0) }
    }

    /// Returns the newest rows, oldest of them first.
    func records(last limit: Int, states: [InboxRecord.State]) async throws(DatabaseFileError) -> [InboxRecord] {
        try await read { database in
            try database.rows(
                "SELECT \(Self.columns) FROM \(Self.rowsOfStates) ORDER BY ordinal DESC LIMIT ?",
                [JSONText(strings: states.map(\.rawValue)).text, limit],
                InboxRecord.init(row:)
            ).reversed()
        }
    }

    func count(states: [InboxRecord.State]) async throws(DatabaseFileError) -> Int {
        try await read { try $0.count(Self.rowsOfStates, [JSONText(strings: states.map(\.rawValue)).text]) }
    }

    // MARK: Statements

    /// Time within which messages of several categories are recognized as one version of a story: as long as a hub
    /// keeps messages.
    static let sameVersionWindow: Duration = .seconds(72 * 3_600)
    /// Number of earlier messages with one version that are looked at.
    private static let maximumSame = 16

    /// The columns of a row, and the id of the message with the same version of the story, unless its handlers failed.
    private static let columns = """
        *, (SELECT mark.id FROM mark WHERE mark.ordinal = inbox.sameAs AND NOT EXISTS
            (SELECT 1 FROM inbox AS other WHERE other.ordinal = inbox.sameAs AND other.state = 'failed')) AS sameAsID
        """
    private static let rowsOfStates = "inbox WHERE iif(isEmpty, 'empty', state) IN (SELECT value FROM json_each(?))"
    static let sameVersionSQL = """
        SELECT ordinal, body, receivedAt FROM inbox WHERE version <> '' AND version = ? AND story = ? AND category <> ?
            AND sameAs IS NULL AND state <> 'failed' ORDER BY ordinal DESC LIMIT ?
        """

    /// Returns the row of another category that has the same version of the story; `nil` if there is none.
    ///
    /// An urgent message is never taken for one that was not shown as urgent.
    private static func sameVersion(
        as arrival: Arrival,
        _ relation: StoryRelation,
        at now: Timestamp,
        in database: Database
    ) throws -> Int64? {
        let category = whole(arrival.content.category)
        guard !relation.version.isEmpty, !relation.story.isEmpty, !category.isEmpty else {
            return nil
        }
        let isUrgent = StoryRelation.isUrgent(arrival.body)
        let rows = try database.rows(sameVersionSQL, [relation.version, relation.story, category, maximumSame])
        return rows.first { row in
            let receivedAt: Timestamp = row["receivedAt"]
            let isRecent = receivedAt >= now - sameVersionWindow && receivedAt <= now + sameVersionWindow
            return isRecent && (!isUrgent || StoryRelation.isUrgent(row["body"]))
        }.map { $0["ordinal"] }
    }

    static let unsettled = "state IN ('pending', 'started')"
    static let supersedeSQL = """
        UPDATE inbox SET superseded = ?1 WHERE story <> '' AND story IN (SELECT value FROM json_each(?2)) AND ordinal < ?3
            AND superseded IS NOT 'withdrawn'
        """
    static let nextSQL = "SELECT ordinal FROM inbox WHERE \(unsettled) ORDER BY ordinal LIMIT 1"

    /// Marks the earlier messages of the stories that a message replaces; a withdrawal is never undone.
    private static func supersede(by relation: StoryRelation, before ordinal: Int64, in database: Database) throws {
        let mark: InboxRecord.Supersession = relation.status == .withdrawn ? .withdrawn : .replaced
        try database.execute(
            supersedeSQL,
            [mark.rawValue, JSONText(strings: relation.replaces).text, ordinal]
        )
    }

    private static func apply(_ settlement: Settlement, to database: Database) throws {
        let (changes, arguments): (String, StatementArguments) =
            switch settlement {
            case .done(let ordinal): ("state = 'done', reason = NULL", [ordinal])
            case .failed(let ordinal, let reason):
                ("state = 'failed', failures = failures + 1, reason = ?", [reason, ordinal])
            case .retrying(let ordinal, let reason): ("failures = failures + 1, reason = ?", [reason, ordinal])
            case .released(let ordinal):
                ("attempts = attempts - 1, state = iif(attempts > 1, 'started', 'pending')", [ordinal])
            }
        try database.execute("UPDATE inbox SET \(changes) WHERE ordinal = ?", arguments)
    }
}

extension InboxRecord {
    /// Reads a row; the schema's checks guarantee known words, and words of a later version are read as unreadable or
    /// failed.
    fileprivate init(row: Row) {
        self.init(
            ordinal: row["ordinal"],
            kind: Kind(rawValue: row["kind"]) ?? .unreadable,
            id: row["id"],
            template: row["template"],
            body: row["body"],
            content: MessageContent(
                title: row["title"],
                message: row["message"],
                link: row["link"],
                category: row["category"]
            ),
            receivedAt: row["receivedAt"],
            state: row["isEmpty"] ? .empty : State(rawValue: row["state"]) ?? .failed,
            attempts: row["attempts"],
            failures: row["failures"],
            reason: row["reason"],
            supersession: (row["superseded"] as String?).flatMap(Supersession.init),
            sameAs: row["sameAsID"]
        )
    }
}
