import FoundationEssentials
import GRDB
import Glibc
import HostSystem
import HubProtocol

/// The agent's database: who it is, what it chose, how far it has read, and its inbox.
///
/// Every write is one transaction that is on the disk when the call returns (`synchronous=FULL`), and is carried out whole
/// even when the calling task is cancelled meanwhile.
final class AgentStore: Sendable {
    /// Bounds of what is kept.
    ///
    /// All count rows, none looks at the clock: a wrong clock at boot must not delete news (design §10).
    struct Bounds: Sendable {
        /// Rows waiting for a handler before the agent stops reading its stream; the hub's log holds the rest.
        var unsettled = 10_000
        /// Settled rows kept to be looked at.
        var settled = 10_000
        /// Bytes of bodies in these.
        var settledBytes = 64 * 1_048_576
        /// Marks of rows that came, by which repeats are known, also after the row itself has gone.
        ///
        /// More than a hub is likely to replay to one agent out of its log, so that a gap brings nothing twice.
        var marks = 250_000
        /// Rows received between two purges.
        var purgeInterval = 500
    }

    static let busyTimeout = 5.0

    let path: String
    let bounds: Bounds
    let pool: DatabasePool

    /// Opens the database, making or upgrading it as needed.
    ///
    /// - Throws: ``AgentStoreError``; ``AgentStoreError/unusable(path:reason:)`` also for a schema newer than this program.
    init(path: String, bounds: Bounds = Bounds()) throws(AgentStoreError) {
        self.path = path
        self.bounds = bounds
        do {
            // SQLite gives its side files the rights of the main one; the directory alone may be 0755 under systemd.
            let descriptor = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else {
                throw AgentStoreError(HostError("cannot open", path, code: errno), path: path)
            }
            Glibc.close(descriptor)
            pool = try Self.retryingOnce {
                var configuration = Configuration()
                configuration.busyMode = .timeout(Self.busyTimeout)
                configuration.label = "agent"
                let pool = try DatabasePool(path: path, configuration: configuration)
                try Self.prepare(pool, path: path)
                return pool
            }
        } catch {
            throw AgentStoreError(error, path: path)
        }
    }

    func close() { try? pool.close() }

    // MARK: Who and what

    func record() async throws(AgentStoreError) -> AgentRecord {
        try await read { database in
            guard let row = try Row.fetchOne(database, sql: "SELECT * FROM agent WHERE only = 1") else {
                throw AgentStoreError.unusable(path: self.path, reason: "its row of table 'agent' is missing")
            }
            return AgentRecord(
                installation: try InstallationID(row["installation"]),
                channel: try PushChannelSecret(row["channel"]),
                categories: try Self.list(ifAny: row["categories"]),
                registered: try Self.list(ifAny: row["registered"]),
                template: Self.template(row),
                registeredTemplate: row["registered_template"],
                cursor: row["cursor"],
                hub: row["hub"],
                allowsPlainHTTP: row["plain_http"],
                retired: try Self.list(row["retired"])
            )
        }
    }

    /// Stores categories, and a template where one is given.
    func choose(_ categories: [String]?, template: TemplateChoice? = nil) async throws(AgentStoreError) {
        let text = categories.map(Self.text)
        try await write { database in
            try database.execute(sql: "UPDATE agent SET categories = ?", arguments: [text])
            if let template { try Self.set(template, in: database) }
        }
    }

    /// Forgets the choice and all that hung on the installation at the hub; the inbox stays.
    func forget() async throws(AgentStoreError) {
        try await write { database in
            try database.execute(
                sql: "UPDATE agent SET categories = NULL, registered = NULL, cursor = NULL, retired = '[]'"
            )
            try Self.set(.standard, in: database)
        }
    }

    /// `template` is the body that the hub confirmed, where that is not the standard one.
    func setRegistered(_ categories: [String]?, template: String? = nil) async throws(AgentStoreError) {
        let text = categories.map(Self.text)
        try await write { database in
            try database.execute(
                sql: "UPDATE agent SET registered = ?, registered_template = ?",
                arguments: [text, template]
            )
        }
    }

    func setRetired(_ categories: [String]) async throws(AgentStoreError) {
        let text = Self.text(categories)
        try await write { try $0.execute(sql: "UPDATE agent SET retired = ?", arguments: [text]) }
    }

    func setHub(_ hub: String, allowsPlainHTTP: Bool) async throws(AgentStoreError) {
        try await write { database in
            try database.execute(
                sql: "UPDATE agent SET hub = ?, plain_http = ?",
                arguments: [hub, allowsPlainHTTP]
            )
        }
    }

    // MARK: Arrivals

    /// Takes events into the inbox and moves the cursor behind them, all or nothing.
    ///
    /// An arrival whose id and template came before is passed over. `cursor` is the last event id at or before the end
    /// of the arrivals; `nil` leaves it where it is.
    ///
    /// - Returns: Those that are new.
    @discardableResult
    func receive(
        _ arrivals: [Arrival],
        cursor: String?,
        at now: Date
    ) async throws(AgentStoreError) -> [Arrival] {
        let milliseconds = Int64((now.timeIntervalSince1970 * 1_000).rounded())
        return try await write { database in
            var taken: [Arrival] = []
            for arrival in arrivals {
                try database.execute(
                    sql: "INSERT OR IGNORE INTO mark (id, template) VALUES (?, ?)",
                    arguments: [arrival.id, arrival.template]
                )
                guard database.changesCount == 1 else { continue }
                let ordinal = database.lastInsertedRowID
                // One without text is another language's: what was shown in this agent's stands.
                let isShown = arrival.kind == .message && arrival.emptiness == nil
                let standing = isShown ? MessageStanding(body: arrival.body) : MessageStanding()
                let state: InboxRecord.State =
                    arrival.failure != nil ? .failed : arrival.emptiness != nil ? .done : .pending
                try database.execute(
                    sql: """
                        INSERT INTO inbox
                            (ordinal, kind, id, template, body, title, message, link, category, received_at, state, reason,
                            is_empty, story)
                            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                        """,
                    arguments: [
                        ordinal, arrival.kind.rawValue, arrival.id, arrival.template, arrival.body,
                        arrival.content.title, arrival.content.message, arrival.content.link, arrival.content.category,
                        milliseconds, state.rawValue, arrival.failure ?? arrival.emptiness, arrival.emptiness != nil,
                        standing.story,
                    ]
                )
                if !standing.replaces.isEmpty { try Self.supersede(by: standing, before: ordinal, in: database) }
                taken.append(arrival)
            }
            if let cursor { try database.execute(sql: "UPDATE agent SET cursor = ?", arguments: [cursor]) }
            return taken
        }
    }

    /// Rows that no handler is done with.
    func unsettledCount() async throws(AgentStoreError) -> Int {
        try await read { try Int.fetchOne($0, sql: "SELECT count(*) FROM inbox WHERE \(Self.unsettled)") ?? 0 }
    }

    /// Drops settled rows and marks beyond their bounds, oldest first.
    func purge() async throws(AgentStoreError) {
        let bounds = bounds
        try await write { database in
            try database.execute(
                sql: """
                    DELETE FROM inbox WHERE state IN ('done', 'failed') AND ordinal <= (
                        SELECT max(ordinal) FROM (
                            SELECT ordinal, row_number() OVER newest AS place, sum(length(body)) OVER newest AS held
                            FROM inbox WHERE state IN ('done', 'failed') WINDOW newest AS (ORDER BY ordinal DESC)
                        ) WHERE place > ? OR held > ?)
                    """,
                arguments: [bounds.settled, bounds.settledBytes]
            )
            try database.execute(
                sql: """
                    DELETE FROM mark WHERE ordinal <= (SELECT max(ordinal) FROM mark) - ?
                        AND ordinal NOT IN (SELECT ordinal FROM inbox)
                    """,
                arguments: [bounds.marks]
            )
        }
    }

    // MARK: Handling

    /// What a handler made of a row.
    enum Settlement: Sendable, Equatable {
        case done(Int64)
        /// Given up, with the reason.
        case failed(Int64, reason: String)
        /// This try failed and another will follow; the row stays started, since the try may have done its work.
        case retrying(Int64, reason: String)
        /// Taken but not begun: as if never taken.
        case released(Int64)
    }

    /// Settles one row, and marks the next as started, in one transaction: so a stop at any point leaves one row, at
    /// most, whose handler may have done its work.
    ///
    /// - Returns: The row now started, `nil` when none waits.
    func startNext(settling settlement: Settlement? = nil) async throws(AgentStoreError) -> InboxRecord? {
        try await write { database in
            if let settlement { try Self.apply(settlement, to: database) }
            guard let ordinal = try Int64.fetchOne(database, sql: Self.nextSQL) else { return nil }
            try database.execute(
                sql: "UPDATE inbox SET state = 'started', attempts = attempts + 1 WHERE ordinal = ?",
                arguments: [ordinal]
            )
            return try Row.fetchOne(database, sql: "SELECT * FROM inbox WHERE ordinal = ?", arguments: [ordinal])
                .map(InboxRecord.init(row:))
        }
    }

    func settle(_ settlement: Settlement) async throws(AgentStoreError) {
        try await write { try Self.apply(settlement, to: $0) }
    }

    /// The newest rows, oldest of them first.
    func records(last limit: Int, states: [InboxRecord.State]) async throws(AgentStoreError) -> [InboxRecord] {
        try await read { database in
            try Row.fetchAll(
                database,
                sql: """
                    SELECT * FROM inbox WHERE iif(is_empty, 'empty', state) IN (SELECT value FROM json_each(?))
                    ORDER BY ordinal DESC LIMIT ?
                    """,
                arguments: [Self.text(states.map(\.rawValue)), limit]
            ).reversed().map(InboxRecord.init(row:))
        }
    }

    // MARK: Statements

    static let unsettled = "state IN ('pending', 'started')"
    static let supersedeSQL = """
        UPDATE inbox SET superseded = ?1 WHERE story <> '' AND story IN (SELECT value FROM json_each(?2)) AND ordinal < ?3
            AND superseded IS NOT 'withdrawn'
        """
    static let nextSQL = "SELECT ordinal FROM inbox WHERE \(unsettled) ORDER BY ordinal LIMIT 1"

    /// Marks the earlier messages of the stories that a message takes the place of; a withdrawal is never undone.
    private static func supersede(by standing: MessageStanding, before ordinal: Int64, in database: Database) throws {
        let mark: InboxRecord.Supersession = standing.status == .withdrawn ? .withdrawn : .replaced
        try database.execute(sql: supersedeSQL, arguments: [mark.rawValue, text(standing.replaces), ordinal])
    }

    private static func apply(_ settlement: Settlement, to database: Database) throws {
        switch settlement {
        case .done(let ordinal):
            try database.execute(
                sql: "UPDATE inbox SET state = 'done', reason = NULL WHERE ordinal = ?",
                arguments: [ordinal]
            )
        case .failed(let ordinal, let reason):
            try database.execute(
                sql: "UPDATE inbox SET state = 'failed', failures = failures + 1, reason = ? WHERE ordinal = ?",
                arguments: [reason, ordinal]
            )
        case .retrying(let ordinal, let reason):
            try database.execute(
                sql: "UPDATE inbox SET failures = failures + 1, reason = ? WHERE ordinal = ?",
                arguments: [reason, ordinal]
            )
        case .released(let ordinal):
            try database.execute(
                sql: """
                    UPDATE inbox SET attempts = attempts - 1,
                        state = CASE WHEN attempts > 1 THEN 'started' ELSE 'pending' END WHERE ordinal = ?
                    """,
                arguments: [ordinal]
            )
        }
    }

    private static func prepare(_ pool: DatabasePool, path: String) throws {
        if try pool.read(migrator.hasBeenSuperseded) {
            throw AgentStoreError.unusable(path: path, reason: "it was made by a newer newswire")
        }
        try migrator.migrate(pool)
        try pool.writeWithoutTransaction { database in
            // GRDB goes back to NORMAL while it opens, and in WAL mode NORMAL may lose the last commits in a power cut.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            guard try Int.fetchOne(database, sql: "PRAGMA synchronous") == 2,
                try String.fetchOne(database, sql: "PRAGMA journal_mode") == "wal"
            else { throw AgentStoreError.unusable(path: path, reason: "its commits cannot be made durable") }
        }
        try pool.write { database in
            try database.execute(
                sql: "INSERT OR IGNORE INTO agent (only, installation, channel) VALUES (1, ?, ?)",
                arguments: ["agent-\(MessageID.random().text)", PushChannelSecret.random().text]
            )
        }
    }

    /// Two programs that make a new database at once meet in the middle of it; the one that lost finds it made.
    private static func retryingOnce<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch is DatabaseError {
            return try body()
        }
    }

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1 agent and inbox") { database in
            try database.execute(
                sql: """
                    CREATE TABLE agent (
                        only INTEGER PRIMARY KEY CHECK (only = 1),
                        installation TEXT NOT NULL,
                        channel TEXT NOT NULL,
                        categories TEXT CHECK (json_type(categories) = 'array'),
                        registered TEXT CHECK (json_type(registered) = 'array'),
                        cursor TEXT,
                        hub TEXT,
                        plain_http INTEGER NOT NULL DEFAULT 0 CHECK (plain_http IN (0, 1)),
                        retired TEXT NOT NULL DEFAULT '[]'
                    ) STRICT;
                    CREATE TABLE mark (
                        ordinal INTEGER PRIMARY KEY AUTOINCREMENT,
                        id TEXT NOT NULL,
                        template TEXT NOT NULL,
                        UNIQUE (id, template)
                    ) STRICT;
                    CREATE TABLE inbox (
                        ordinal INTEGER PRIMARY KEY REFERENCES mark (ordinal),
                        kind TEXT NOT NULL CHECK (kind IN ('message', 'gap', 'unreadable')),
                        id TEXT NOT NULL,
                        template TEXT NOT NULL,
                        body TEXT NOT NULL,
                        title TEXT NOT NULL,
                        message TEXT NOT NULL,
                        link TEXT NOT NULL,
                        category TEXT NOT NULL,
                        received_at INTEGER NOT NULL,
                        state TEXT NOT NULL CHECK (state IN ('pending', 'started', 'done', 'failed')),
                        attempts INTEGER NOT NULL DEFAULT 0 CHECK (attempts >= 0),
                        failures INTEGER NOT NULL DEFAULT 0 CHECK (failures >= 0),
                        reason TEXT,
                        UNIQUE (id, template),
                        CHECK (state <> 'failed' OR reason IS NOT NULL)
                    ) STRICT;
                    CREATE INDEX inbox_unsettled ON inbox (ordinal) WHERE state IN ('pending', 'started');
                    """
            )
        }
        migrator.registerMigration("2 stories") { database in
            try database.execute(
                sql: """
                    ALTER TABLE inbox ADD COLUMN story TEXT NOT NULL DEFAULT '';
                    ALTER TABLE inbox ADD COLUMN superseded TEXT CHECK (superseded IN ('replaced', 'withdrawn'));
                    CREATE INDEX inbox_by_story ON inbox (story, ordinal) WHERE story <> '';
                    """
            )
        }
        migrator.registerMigration("3 language, template") { database in
            try database.execute(
                sql: """
                    ALTER TABLE agent ADD COLUMN language TEXT;
                    ALTER TABLE agent ADD COLUMN template TEXT;
                    ALTER TABLE agent ADD COLUMN registered_template TEXT;
                    ALTER TABLE inbox ADD COLUMN is_empty INTEGER NOT NULL DEFAULT 0 CHECK (is_empty IN (0, 1));
                    """
            )
        }
        return migrator
    }

    /// At most one of the two columns is set.
    private static func template(_ row: Row) -> TemplateChoice {
        if let body: String = row["template"] { return .custom(body) }
        if let text: String = row["language"], let language = try? LanguageName(text) { return .language(language) }
        return .standard
    }

    private static func set(_ choice: TemplateChoice, in database: Database) throws {
        let (language, body): (String?, String?) =
            switch choice {
            case .standard: (nil, nil)
            case .language(let language): (language.text, nil)
            case .custom(let body): (nil, body)
            }
        try database.execute(sql: "UPDATE agent SET language = ?, template = ?", arguments: [language, body])
    }

    private static func text(_ list: [String]) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        return (try? encoder.encode(list)).map { String(decoding: $0, as: UTF8.self) } ?? "[]"
    }

    private static func list(ifAny text: String?) throws -> [String]? { try text.map(list) }

    private static func list(_ text: String) throws -> [String] {
        try JSONDecoder().decode([String].self, from: Data(text.utf8))
    }

    // MARK: Access

    /// GRDB rolls back when the calling task is cancelled; an unstructured task is not (swift-notes §3).
    private func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(AgentStoreError) -> Value {
        do {
            return try await Task { [pool] in try await pool.write(body) }.value
        } catch {
            throw AgentStoreError(error, path: path)
        }
    }

    private func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(AgentStoreError) -> Value {
        do {
            return try await Task { [pool] in try await pool.read(body) }.value
        } catch {
            throw AgentStoreError(error, path: path)
        }
    }
}

extension InboxRecord {
    /// The schema's checks have seen to the vocabulary; a word of a later version reads as something to be left alone.
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
            receivedAt: Date(timeIntervalSince1970: Double(row["received_at"] as Int64) / 1_000),
            state: row["is_empty"] ? .empty : State(rawValue: row["state"]) ?? .failed,
            attempts: row["attempts"],
            failures: row["failures"],
            reason: row["reason"],
            supersession: (row["superseded"] as String?).flatMap(Supersession.init)
        )
    }
}
