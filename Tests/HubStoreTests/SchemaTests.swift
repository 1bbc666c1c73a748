import Foundation
import GRDB
import HubProtocol
import HubRouting
import SQLiteFiles
import Testing

@testable import HubStore

struct SchemaTests {
    @Test func `a new file is migrated from nothing, and opened again as it is`() async throws {
        let scratch = try Scratch()
        var (store, hub) = try await scratch.store()
        try await store.append(hub)
        try store.close()
        (store, hub) = try await scratch.store()
        #expect(try await store.hubs().map(\.name.text) == ["news"])
        #expect(try await store.extent().top == 1)
        #expect(try await store.accessRules(hub: hub).map(\.name) == ["Listen"])
    }

    @Test func `all tables are strict but those that a migration would have to copy for long`() async throws {
        let scratch = try Scratch()
        try HubStore(path: scratch.path).close()
        let lenient = try await scratch.read { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT name FROM pragma_table_list
                    WHERE schema = 'main' AND type = 'table' AND NOT strict
                    AND name NOT LIKE 'sqlite_%' AND name <> 'grdb_migrations' ORDER BY name
                    """
            )
        }
        #expect(
            lenient == [
                "formerRegistration", "idempotencyKey", "installation", "log", "owed", "registration",
                "scheduledMessage",
                "streamProgress", "tombstone",
            ]
        )
    }

    @Test func `a file of a newer version is refused and left alone`() async throws {
        let scratch = try Scratch()
        try HubStore(path: scratch.path).close()
        let queue = try DatabaseQueue(path: scratch.path)
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('99 of tomorrow')") }
        try queue.close()
        let error = #expect(throws: DatabaseFileError.self) { try HubStore(path: scratch.path) }
        #expect(error?.cause == .newerVersion)
        let applied = try await scratch.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_migrations") }
        #expect(applied == Schema.migrator.migrations.count + 1)
    }

    /// A statement with the indexes that its plan must name, one for each table that it searches.
    struct Hot: CustomTestStringConvertible {
        let name: String
        let sql: String
        var indexes: [String] = []
        /// Steps that would be a fault elsewhere, and are meant here.
        var allowed: [String] = []

        var testDescription: String { name }
    }

    private static let ownOrder = "sqlite_autoindex_registration_1"
    private static let sorts = "USE TEMP B-TREE FOR ORDER BY"

    private static let hot = [
        Hot(name: "owed rows", sql: Query.pendingRows),
        Hot(name: "messages", sql: Query.messages, indexes: ["log_message"]),
        Hot(name: "installation", sql: Query.installation, indexes: ["sqlite_autoindex_installation_1"]),
        Hot(name: "installation by ordinal", sql: Query.installationOfOrdinal),
        Hot(name: "message by sequence", sql: Query.message),
        Hot(name: "streams", sql: Query.streams, indexes: ["installation_stream"]),
        Hot(name: "a page of streams", sql: Query.streamsPage, indexes: ["installation_stream"]),
        Hot(name: "accepted message", sql: Query.acceptedMessage),
        Hot(name: "expired keys", sql: Query.dropKeys, indexes: ["idempotencyKey_at"]),
        Hot(name: "unused owed row", sql: Query.unusedPendingRow, indexes: ["log_message"]),
        Hot(name: "owed sizes", sql: Query.pendingSizes), Hot(name: "owed before", sql: Query.dropPending),
        // They are read in the order of the table, up to a limit.
        Hot(name: "oldest rows", sql: Query.oldestRows, allowed: ["SCAN log"]),
        Hot(name: "bytes added", sql: Query.bytesAfter),
        Hot(name: "installation of a secret", sql: Query.installationOfDigest, indexes: ["installation_digest"]),
        Hot(name: "message by id", sql: LookupQuery.message, indexes: ["sqlite_autoindex_log_1"]),
        Hot(name: "newest messages", sql: LookupQuery.newestMessages, indexes: ["log_message"]),
        Hot(name: "newest tags", sql: LookupQuery.newestTags, indexes: ["log_message"]),
        Hot(name: "figures since a time", sql: FigureQuery.list),
        Hot(name: "tags after a place", sql: AlarmQuery.tags, indexes: ["log_message"]),
        Hot(name: "sent message", sql: LookupQuery.sent, indexes: ["sqlite_autoindex_log_1"]),
        Hot(name: "change after", sql: LookupQuery.change, indexes: ["log_change"]),
        // Of the changes alone, when an operator asks.
        Hot(
            name: "changes after",
            sql: LookupQuery.changes,
            indexes: ["log_change"],
            allowed: ["USE TEMP B-TREE FOR GROUP BY"]
        ),
        Hot(name: "owed over a run", sql: LookupQuery.pendingRows), Hot(name: "progress", sql: LookupQuery.progress),
        // The scan is of the list that is asked for.
        Hot(
            name: "progress of many",
            sql: LookupQuery.progressOfMany,
            indexes: ["1:"],
            allowed: ["SCAN json_each VIRTUAL TABLE INDEX 1:"]
        ),
    ]

    private static let scheduled = [
        Hot(
            name: "scheduled message",
            sql: ScheduledQuery.one,
            indexes: ["sqlite_autoindex_scheduledMessage_1"]
        ),
        Hot(name: "due messages", sql: ScheduledQuery.due, indexes: ["scheduledMessage_due"]),
        Hot(name: "waiting messages", sql: ScheduledQuery.waiting, indexes: ["scheduledMessage_due"]),
        Hot(name: "next due", sql: ScheduledQuery.nextDue, indexes: ["scheduledMessage_due"]),
        Hot(name: "what waits", sql: ScheduledQuery.load, indexes: ["scheduledMessage_due"]),
        Hot(
            name: "too many canceled",
            sql: ScheduledQuery.boundCanceled,
            indexes: ["scheduledMessage_canceled", "scheduledMessage_canceled"]
        ),
    ]

    private static let registrations = [
        // Once, at the start, in the order of the table.
        Hot(name: "all registrations", sql: RegistrationQuery.all, allowed: ["SCAN registration"]),
        Hot(name: "registration", sql: RegistrationQuery.one, indexes: [ownOrder]),
        Hot(name: "page of registrations", sql: RegistrationQuery.page, indexes: ["registration_page"]),
        Hot(
            name: "registrations by ordinal",
            sql: RegistrationQuery.byOrdinals,
            indexes: ["1:"],
            allowed: ["SCAN json_each VIRTUAL TABLE INDEX 1:"]
        ),
        Hot(
            name: "targets by ordinal",
            sql: RegistrationQuery.targets,
            indexes: ["1:"],
            allowed: ["SCAN json_each VIRTUAL TABLE INDEX 1:"]
        ),
        Hot(name: "registration by itself", sql: RegistrationQuery.alone),
        Hot(name: "registrations of a handle", sql: RegistrationQuery.byHandle, indexes: ["registration_handle"]),
        // The few of one installation.
        Hot(
            name: "registrations of an installation",
            sql: RegistrationQuery.fullOfInstallation,
            indexes: ["registration_part"],
            allowed: [sorts]
        ),
        Hot(name: "targets of an installation", sql: RegistrationQuery.ofInstallation, indexes: ["registration_part"]),
        Hot(name: "former registrations", sql: RegistrationQuery.former, indexes: ["formerRegistration_handle"]),
        Hot(name: "too many former", sql: RegistrationQuery.boundFormer),
        Hot(name: "expired registrations", sql: RegistrationQuery.expired, indexes: ["registration_expiry"]),
        Hot(
            name: "expired installations",
            sql: RegistrationQuery.expiredInstallations,
            indexes: ["installation_expiry"]
        ),
        Hot(name: "tombstone", sql: RegistrationQuery.tombstone),
        Hot(name: "last message", sql: RegistrationQuery.lastMessage, indexes: ["log_message"]),
    ]

    private static let changes = [
        Hot(name: "oldest changes", sql: ChangeQuery.oldest, indexes: ["log_change"]),
        Hot(name: "dropped change", sql: ChangeQuery.drop), Hot(name: "forgotten changes", sql: ChangeQuery.forget),
        Hot(name: "forgotten creation", sql: ChangeQuery.forgetCreation),
    ]

    private static let rowsOfOne = "SCAN (subquery-1)"

    /// The scans are of the lists that are asked for.
    private static let deliveries = [
        Hot(name: "open deliveries", sql: DeliveryQuery.open, indexes: ["delivery_open"]),
        Hot(name: "newest deliveries", sql: DeliveryQuery.newest, indexes: ["delivery_open"]),
        Hot(name: "platforms with open deliveries", sql: DeliveryQuery.openPlatforms, indexes: ["delivery_open"]),
        Hot(name: "push backlog", sql: DeliveryQuery.backlog, indexes: ["delivery_open"]),
        Hot(name: "block", sql: DeliveryQuery.block, indexes: ["sqlite_autoindex_deliveryBlock_1"]),
        Hot(name: "next block", sql: DeliveryQuery.nextBlock, indexes: ["sqlite_autoindex_deliveryBlock_1"]),
        Hot(name: "retries of a block", sql: DeliveryQuery.retrying),
        Hot(name: "due retries", sql: DeliveryQuery.due, indexes: ["deliveryRetry_due"]),
        Hot(name: "retries that wait for a host", sql: DeliveryQuery.awaiting, indexes: ["deliveryRetry_host"]),
        Hot(name: "next awaited host", sql: DeliveryQuery.nextHost, indexes: ["deliveryRetry_host"]),
        Hot(name: "next due retry", sql: DeliveryQuery.nextDue, indexes: ["deliveryRetry_due"]),
        Hot(
            name: "dropped retries",
            sql: DeliveryQuery.dropRetries,
            indexes: ["1:"],
            allowed: ["SCAN json_each VIRTUAL TABLE INDEX 1:"]
        ),
        Hot(name: "a retry of a message", sql: DeliveryQuery.aRetry),
        Hot(name: "superfluous retries", sql: DeliveryQuery.collapsed, indexes: ["deliveryRetry_collapse"]),
        Hot(name: "failures", sql: DeliveryQuery.failures),
        Hot(
            name: "targets with the order of their handles",
            sql: RegistrationQuery.pushTargets,
            indexes: ["1:", "registration_handle"],
            allowed: ["SCAN json_each VIRTUAL TABLE INDEX 1:"]
        ),
        Hot(name: "earlier ones of a handle", sql: DeliveryQuery.earlierOfHandle, indexes: ["registration_handle"]),
        Hot(name: "retries that are due too late", sql: DeliveryQuery.dueAfter, indexes: ["deliveryRetry_due"]),
        Hot(name: "failures of a hub", sql: DeliveryQuery.allFailures, indexes: ["delivery_failed"]),
        Hot(
            name: "days with dead handles",
            sql: FailureQuery.deadDays,
            indexes: ["deliveryFailure_dead"],
            allowed: ["USE TEMP B-TREE FOR GROUP BY"]
        ),
        Hot(name: "dead handles", sql: FailureQuery.dead, indexes: ["deliveryFailure_dead"]),
        Hot(name: "former state of a registration", sql: RegistrationQuery.lastFormer),
        Hot(name: "failures that go with their message", sql: DroppingQuery.failures),
        Hot(name: "retries that go with their message", sql: DroppingQuery.retries),
        Hot(name: "failures of a message", sql: DroppingQuery.failureCount, allowed: [rowsOfOne]),
        Hot(name: "retries of a message", sql: DroppingQuery.retryCount, allowed: [rowsOfOne]),
        Hot(name: "platforms of a message", sql: DroppingQuery.platforms),
        Hot(name: "a retry of a hub", sql: DroppingQuery.retried, indexes: ["deliveryRetry_due"]),
        Hot(name: "a failure of a hub", sql: DroppingQuery.failed, indexes: ["delivery_failed"]),
        Hot(name: "answer of a test send", sql: TestAnswerQuery.one),
        Hot(name: "too many answers", sql: TestAnswerQuery.forget, allowed: ["SCAN testAnswer"]),
    ]

    /// Small tables: hubs, their rules, and a hundred jobs of each.
    private static let management = [
        Hot(name: "jobs", sql: JobQuery.newest), Hot(name: "job", sql: JobQuery.one),
        Hot(name: "unfinished jobs of a hub", sql: JobQuery.unfinishedCount), Hot(name: "old jobs", sql: JobQuery.old),
        Hot(name: "unfinished jobs", sql: JobQuery.unfinished, allowed: ["SCAN job", sorts]),
        Hot(name: "unfinished jobs of other nodes", sql: JobQuery.unfinishedElsewhere, allowed: ["SCAN job"]),
        Hot(name: "hub", sql: HubQuery.hub), Hot(name: "hubs", sql: HubQuery.hubs, allowed: ["SCAN hub"]),
        Hot(name: "rules of a hub", sql: HubQuery.rulesOfHub, allowed: [sorts]),
        Hot(name: "rules of hubs", sql: HubQuery.rulesOfHubs, allowed: ["SCAN accessRule"]),
        Hot(name: "rules of the namespace", sql: HubQuery.namespaceRules, allowed: ["SCAN namespaceRule"]),
    ]

    @Test(arguments: hot + scheduled + registrations + changes + deliveries + management)
    func `no statement scans or sorts a table, or takes another index than the one made for it`(
        statement: Hot
    ) async throws {
        let plan = try await explained("EXPLAIN QUERY PLAN " + statement.sql, "detail")
        for step in plan where !statement.allowed.contains(step) {
            #expect(!step.hasPrefix("SCAN") && !step.contains("TEMP B-TREE"), "\(plan)")
        }
        let indexes = plan.compactMap { step in
            step.firstRange(of: "INDEX ").map { step[$0.upperBound...].prefix { $0 != " " }.description }
        }
        #expect(indexes == statement.indexes, "\(plan)")
    }

    @Test func `a renewed registration is taken out of the index of expiry alone`() async throws {
        let steps = try await explained("EXPLAIN " + RegistrationQuery.renew, "opcode")
        #expect(steps.count { $0 == "IdxInsert" } == 1 && steps.count { $0 == "IdxDelete" } == 1, "\(steps)")
    }

    /// A column of what SQLite says of a statement.
    private func explained(_ sql: String, _ column: String) async throws -> [String] {
        let scratch = try Scratch()
        _ = try await scratch.store()
        return try await scratch.read { db in
            SecretBox.register(nil, in: db)
            // Parameters that are not given are NULL, which EXPLAIN does not mind.
            let statement = try db.makeStatement(sql: sql)
            statement.setUncheckedArguments(StatementArguments())
            return try Row.fetchAll(statement).map { $0[column] }
        }
    }
}
