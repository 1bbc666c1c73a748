import Formats
import FoundationEssentials
import GRDB
import HubProtocol
import SQLiteFiles
import Settings

/// The agent's database: its identity, its choice, its position in the stream, and its inbox.
///
/// Every write is one transaction that is on disk when the call returns (`synchronous=FULL`), and that completes even
/// if the calling task is cancelled.
final class AgentStore: Sendable {
    /// Limits of the stored data.
    ///
    /// None uses the clock: a wrong clock at boot must not delete news.
    struct Bounds: Sendable {
        /// Maximum number of rows that wait for a handler before the agent stops reading its stream; the hub's log
        /// holds the rest.
        var unsettled = AgentSettings.inboxSize.fallback
        /// Maximum number of settled rows that are kept.
        var settled = AgentSettings.inboxSize.fallback
        /// Maximum number of bytes of the bodies of settled rows.
        var settledBytes = 64 * 1_048_576
        /// Maximum number of marks, by which repeated messages are recognized after their rows are gone.
        ///
        /// More than a hub is likely to replay to one agent from its log, so that nothing appears twice after a gap.
        var marks = 250_000
        /// Maximum number of secure notifications whose text has not been fetched: as many as an app backend keeps for
        /// a user.
        var secure = 1_000
        /// Number of rows received between two purges.
        var purgeInterval = 500
    }

    let path: String
    let bounds: Bounds
    let pool: DatabasePool

    /// Opens the database, creating or upgrading it if necessary.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``; also for a schema newer than this program.
    init(path: String, bounds: Bounds = Bounds()) throws(DatabaseFileError) {
        self.path = path
        self.bounds = bounds
        do {
            let opener = DatabaseOpener(Self.migrator)
            pool = try opener.pool(at: path)
            try opener.migrate(pool)
            try pool.write { database in
                try database.execute(
                    "INSERT OR IGNORE INTO agent (only, installation, channel) VALUES (1, ?, ?)",
                    ["agent-\(MessageID.random().text)", PushChannelSecret.random().text]
                )
            }
        } catch {
            throw DatabaseFileError.of(path, error)
        }
    }

    func close() { try? pool.close() }

    // MARK: Identity and choice

    func record() async throws(DatabaseFileError) -> AgentRecord {
        try await read { database in
            guard let row = try database.row("SELECT * FROM agent WHERE only = 1") else {
                throw DatabaseFileError(self.path, .other, "its row of table 'agent' is missing")
            }
            return AgentRecord(
                installation: try InstallationID(row["installation"]),
                channel: try PushChannelSecret(row["channel"]),
                categories: try Self.list(ifAny: row["categories"]),
                registered: try Self.list(ifAny: row["registered"]),
                template: Self.template(row),
                registeredTemplate: row["registeredTemplate"],
                taggedUser: row["taggedUser"],
                registeredUser: row["registeredUser"],
                cursor: row["cursor"],
                generation: row["generation"],
                hub: row["hub"],
                allowsPlainHTTP: row["allowsPlainHTTP"],
                retired: try Self.list(row["retired"])
            )
        }
    }

    /// Stores categories, and a template if there is one.
    func choose(_ categories: [String]?, template: TemplateChoice? = nil) async throws(DatabaseFileError) {
        let text = categories.map { JSONText(strings: $0).text }
        try await write { database in
            try database.execute("UPDATE agent SET categories = ?", [text])
            if let template { try Self.set(template, in: database) }
        }
    }

    /// Deletes the choice and everything that belongs to the installation at the hub; the inbox stays.
    func forget() async throws(DatabaseFileError) {
        try await execute(
            """
            UPDATE agent SET categories = NULL, registered = NULL, cursor = NULL, retired = '[]', taggedUser = NULL,
                registeredUser = NULL, generation = generation + 1, language = NULL, template = NULL
            """
        )
    }

    /// Stores a registration: `template` is the body that the hub confirmed, unless it is the standard one; `user` is
    /// the user for whom an app backend has registered the agent.
    func setRegistered(
        _ categories: [String]?,
        template: String? = nil,
        user: String? = nil
    ) async throws(DatabaseFileError) {
        let text = categories.map { JSONText(strings: $0).text }
        try await execute(
            "UPDATE agent SET registered = ?, registeredTemplate = ?, registeredUser = ?",
            [text, template, user]
        )
    }

    /// Deletes the position in the stream: the next stream begins where the installation was created.
    func forgetCursor() async throws(DatabaseFileError) {
        try await execute("UPDATE agent SET cursor = NULL")
    }

    /// Stores reported categories, unless another process has unsubscribed meanwhile.
    func setRetired(_ categories: [String]) async throws(DatabaseFileError) {
        let text = JSONText(strings: categories).text
        try await execute("UPDATE agent SET retired = ? WHERE categories IS NOT NULL", [text])
    }

    func setHub(_ hub: String, allowsPlainHTTP: Bool) async throws(DatabaseFileError) {
        try await execute("UPDATE agent SET hub = ?, allowsPlainHTTP = ?", [hub, allowsPlainHTTP])
    }

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
        try database.execute("UPDATE agent SET language = ?, template = ?", [language, body])
    }

    private static func list(ifAny text: String?) throws -> [String]? { try text.map(list) }

    private static func list(_ text: String) throws -> [String] {
        try JSONReader.decode([String].self, from: text, limits: .stored)
    }

    // MARK: Access

    /// Executes one statement in a transaction of its own.
    func execute(_ sql: String, _ arguments: StatementArguments = []) async throws(DatabaseFileError) {
        try await write { try $0.execute(sql, arguments) }
    }

    /// Runs a transaction in an unstructured task, because GRDB rolls back when the calling task is cancelled.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(DatabaseFileError) -> Value {
        try await finishing { [pool] in try await pool.write(body) }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(DatabaseFileError) -> Value {
        try await finishing { [pool] in try await pool.read(body) }
    }

    /// Runs work in an unstructured task, which the cancellation of the calling task does not reach.
    private func finishing<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws(DatabaseFileError) -> Value {
        do {
            return try await Task { try await work() }.value
        } catch {
            throw DatabaseFileError.of(path, error)
        }
    }
}
