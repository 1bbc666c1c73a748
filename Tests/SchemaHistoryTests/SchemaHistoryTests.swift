import AppBackend
import Crypto
import Foundation
import GRDB
import Testing

@testable import FeedPublisher
@testable import HubStore
@testable import PageServer
@testable import SubscriberAgent

/// Databases of users have been through the migrations one by one: one that is changed later leaves them without the change,
/// and one that is renamed or removed makes them files of a newer version.
struct SchemaHistoryTests {
    /// A database of the program, and the digest of its schema after each migration.
    struct History: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let migrator: @Sendable () -> DatabaseMigrator
        /// Lines are added here, and never changed.
        let schemas: [String]
    }

    @Test(arguments: Self.histories)
    func `migrations make what they made in earlier versions`(history: History) throws {
        let queue = try DatabaseQueue()
        let migrator = history.migrator()
        let schemas = try migrator.migrations.map { name in
            try migrator.migrate(queue, upTo: name)
            return try "\(queue.read(Self.digest)) \(name)"
        }
        #expect(schemas == history.schemas, "\(schemas.joined(separator: "\n"))")
    }

    /// A digest of the schema without comments and white space.
    private static func digest(of db: Database) throws -> String {
        let statements = try String.fetchAll(
            db,
            sql: "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY type, name"
        )
        let text = statements.joined(separator: "\n").replacing(/--.*/, with: "").filter { !$0.isWhitespace }
        return SHA256.hash(data: Data(text.utf8)).prefix(4).map { String(format: "%02x", $0) }.joined()
    }

    private static let histories = [
        History(
            testDescription: "hub",
            migrator: { Schema.migrator },
            schemas: [
                "019de909 1 one log, installations and what they are owed",
                "0a110364 2 whom a message matched and why streams ended",
                "1c54df22 3 registrations",
                "b90e31b9 4 messages of every format",
                "cd401d1f 5 hubs and the namespace",
                "2d9f6156 6 pages of registrations",
                "bbf69800 7 restores and what they lost",
                "bbf69800 8 names of templates are tags",
                "389d46b6 9 charges of what Listen has written",
                "a9d60ca8 10 registry changes are counted",
                "f160e6a4 11 small tables are strict",
                "9db73441 12 messages on their way to push services",
                "0de010ff 13 why deliveries ended",
                "d9f92a1e 14 answers of test sends",
                "9d90e94f 15 handles that push services have reported dead",
                "2389e395 13 reports of publishers",
                "6a3ac2df 17 alarms",
                "a9939744 18 the place in an ordered log",
                "f2aa3454 19 the holder of duties and the nodes of jobs",
                "1798f6d2 20 the writers of what Listen has written",
                "af2150de 21 the proof of the key that nodes have in common",
                "9efc6ec1 22 hosts that retries wait for",
                "62257b40 23 figures over time",
                "b3df480f 24 times of messages at streams",
                "72917771 25 requests to publishers",
                "6961323e 26 people and pages",
            ]
        ),
        History(
            testDescription: "app backend",
            migrator: { BackendStore.migrator },
            schemas: [
                "e61fbec1 1",
                "db341852 2",
                "190cd211 3",
                "edc718cd 4",
            ]
        ),
        History(
            testDescription: "pages",
            migrator: { PageStore.migrator },
            schemas: [
                "5ffbf1eb 1",
                "0d43d525 users",
                "e6b01719 browsers",
                "b2bc02b1 operators",
                "86c0137f starts of sessions",
                "86c0137f one spelling of hubs",
                "71e828ac languages",
                "395d0da0 identities of hubs",
                "62d433d5 shares of sessions",
                "6c045d4a feed addresses",
                "4607a7af drafts of the desk",
            ]
        ),
        History(
            testDescription: "publisher",
            migrator: { PublisherStore.migrator },
            schemas: [
                "d171731e 1 feeds, keys, outbox",
                "c36a5b39 2 pace, whose validators",
                "a87798b1 3 stories by title, contents, held entries",
                "355adabf 4 names of stories, holds",
                "7ecc4a2d 5 languages",
                "9d8775bc 6 websub",
                "6fc28341 7 readings in progress",
                "37c96746 8 story and urgency of messages, one style of names",
                "71a9a9b1 9 names as in the hub's file",
                "d0cddb6e 10 judged entries",
                "cbd35bee 11 reasons of waits, age of validators, ends of outages",
                "f461867e 12 pages of feeds",
                "ce002247 13 entries of pages, texts of stories, held entries",
                "5577acf4 14 polls and pauses of feeds",
                "f51301e0 15 a poll of a feed is not a pass",
            ]
        ),
        History(
            testDescription: "agent",
            migrator: { AgentStore.migrator },
            schemas: [
                "08f42d3a 1 agent and inbox",
                "b56a8e5d 2 stories",
                "fff010a8 3 language, template",
                "02b9c88b 4 names as in the hub's file",
                "e4be950c 5 users and secure notifications",
                "73ead0cc 6 versions of stories",
                "90528b2b 7 generations of the installation",
            ]
        ),
    ]
}
