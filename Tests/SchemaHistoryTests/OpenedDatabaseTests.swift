import Foundation
import GRDB
import SQLiteFiles
import Testing

@testable import AppBackend
@testable import FeedPublisher
@testable import HubStore
@testable import PageServer
@testable import SubscriberAgent

/// All databases are opened in one way: what a program has reported as stored survives a power cut, and is private.
struct OpenedDatabaseTests {
    /// A database of the program, opened as the program opens it.
    struct Role: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// Runs a function with the connection that writes.
        let write:
            @Sendable (_ path: String, _ body: @escaping @Sendable (Database) throws -> Pragmas) async throws -> Pragmas
    }

    struct Pragmas: Sendable, Equatable {
        var journal = "wal"
        /// 2 is FULL.
        var synchronous = 2
        var foreignKeys = true
        var busyTimeout = 10_000
        var fileModes = [0o600, 0o600]
    }

    static let roles: [Role] = [
        Role(testDescription: "hub") { path, body in
            try await HubStore(path: path).pool.writeWithoutTransaction { try body($0) }
        },
        Role(testDescription: "app backend") { path, body in
            try await BackendStore(path: path).write { try body($0.database) }
        },
        Role(testDescription: "pages") { path, body in try await PageStore(path: path).write { try body($0.database) }
        },
        Role(testDescription: "publisher") { path, body in
            try PublisherStore(path: path).read { try body($0.database) }
        },
        Role(testDescription: "agent") { path, body in try await AgentStore(path: path).write { try body($0) } },
    ]

    @Test(arguments: roles)
    func `a stored change survives a power cut, waits for locks, and is private`(role: Role) async throws {
        let folder = NSTemporaryDirectory() + "opened-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = "\(folder)/some.sqlite"
        // The second time it exists already.
        for _ in 1...2 {
            let pragmas = try await role.write(path) { db in
                Pragmas(
                    journal: try String.fetchOne(db, sql: "PRAGMA journal_mode") ?? "",
                    synchronous: try Int.fetchOne(db, sql: "PRAGMA synchronous") ?? -1,
                    foreignKeys: try Bool.fetchOne(db, sql: "PRAGMA foreign_keys") ?? false,
                    busyTimeout: try Int.fetchOne(db, sql: "PRAGMA busy_timeout") ?? -1,
                    fileModes: try ["", "-wal"].map {
                        let facts = try FileManager.default.attributesOfItem(atPath: path + $0)
                        return (facts[.posixPermissions] as? NSNumber)?.intValue ?? -1
                    }
                )
            }
            #expect(pragmas == Pragmas())
        }
    }

    /// A connection that is opened elsewhere would have other settings.
    @Test func `only one module opens databases`() throws {
        let sources = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "Sources")
        let names = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
        var opening: Set<String> = []
        for name in names where name.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appending(path: name), encoding: .utf8)
            if text.contains(/Database(Pool|Queue)\(path/) { opening.insert(String(name.prefix { $0 != "/" })) }
        }
        #expect(opening == ["SQLiteFiles"])
    }
}
