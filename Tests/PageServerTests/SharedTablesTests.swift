import Foundation
import GRDB
import HubProtocol
import HubStore
import HubTestServer
import Logging
import SQLiteFiles
import SharedLog
import Synchronization
import Testing

@testable import AppBackend
@testable import HubServer
@testable import PageServer

/// Accounts and sessions in the file of a hub that shares its log.
struct SharedTablesTests {
    private static let hasher = PasswordHasher(parameters: ScryptParameters(rounds: 2, blockSize: 1, parallelism: 1))

    /// Fills the files of a hub that had no log.
    private func fill(_ scratch: ScratchFolder, user: String = "ann") async throws -> PayloadBox {
        let store = try BackendStore(path: scratch.file("backend.sqlite"))
        let accounts = Accounts(store: store, hasher: Self.hasher)
        for name in ["gone", user] {
            try await accounts.add(
                try #require(UserName(name)),
                password: try #require(Password(name)),
                mayNotifyOthers: true
            )
        }
        // The numbers of removed accounts are not used again, even if they are the last.
        let last = try #require(UserName("last"))
        try await accounts.add(last, password: try #require(Password("last")), mayNotifyOthers: false)
        try await accounts.remove(last)
        let box = try PayloadBox(keyFile: scratch.file("backend.key"))
        _ = try await store.changePayloads { table in
            try table.insert(for: user, from: user, within: PayloadBounds(), now: 0, expiresAt: .distantFuture) { id in
                try box.seal("a secret", id: id, addressee: user)
            }
        }
        let pages = try PageStore(path: scratch.file("pages.sqlite"))
        let news = try HubName("news")
        for number in 0..<250 {
            _ = try await pages.begin(
                .random(),
                hub: news,
                network: "192.0.2.0/24",
                choice: ReaderChoice(categories: []),
                isInvited: number > 0,
                at: 1_000
            )
        }
        return box
    }

    /// Opens a node with a log, which copies its files.
    private func join(
        _ scratch: ScratchFolder,
        _ log: MemoryLog,
        _ name: String,
        secrets: String,
        failingAfter limit: Int = .max
    ) async throws -> (HubService, [TableImport.Outcome]) {
        var configuration = HubConfiguration(databasePath: scratch.file("hub.sqlite"), hubName: try HubName("news"))
        configuration.secretsPath = secrets
        let outcomes = Outcomes()
        configuration.onTables = { tables in
            let writes = Outcomes()
            let key = PayloadBox(key: tables.derivedKey("payloads"))
            let write = { @Sendable (body: @escaping @Sendable (TableTransaction) throws -> Bool) in
                if writes.count == limit { throw Killed() }
                writes.add(.nothing)
                return try await tables.write(body)
            }
            let box = try PayloadBox(keyFile: scratch.file("backend.key"))
            outcomes.add(
                try await BackendStore.copy(scratch.file("backend.sqlite"), box, sealedWith: key) { try await write($0) }
            )
            outcomes.add(try await PageStore.copy(scratch.file("pages.sqlite")) { try await write($0) })
        }
        let service = try await HubService(configuration, log: log.node(name), channel: MemoryChannel().node(name), logger: .quiet)
        return (service, outcomes.all)
    }

    private struct Killed: Error {}

    private final class Outcomes: Sendable {
        private let list = Mutex<[TableImport.Outcome]>([])
        var all: [TableImport.Outcome] { list.withLock { $0 } }
        var count: Int { all.count }
        func add(_ outcome: TableImport.Outcome) { list.withLock { $0.append(outcome) } }
    }

    @Test func `files of a hub that had no log are copied once, at whichever step it was killed before`() async throws {
        let (scratch, log) = (try ScratchFolder(), MemoryLog(incarnation: "log"))
        let secrets = scratch.file("secrets.key")
        _ = try await fill(scratch)
        for limit in [1, 3, 6, 10] {
            await #expect(throws: Killed.self) {
                _ = try await join(scratch, log, "a", secrets: secrets, failingAfter: limit)
            }
            #expect(FileManager.default.fileExists(atPath: scratch.file("pages.sqlite")))
        }
        let (service, outcomes) = try await join(scratch, log, "a", secrets: secrets)
        guard case .copied = outcomes.last else { return #expect(Bool(false), "\(outcomes)") }
        let store = BackendStore(in: service.tables)
        #expect(try await store.accounts().map(\.name.text) == ["ann", "gone"])
        let (payload, next) = try await store.read { tables in
            let row = try #require(try tables.row("SELECT id, sealed FROM payload"))
            let next: Int64? = try tables.value("SELECT seq FROM sqlite_sequence WHERE name = 'account'")
            return ((id: row["id"] as Int64, sealed: row["sealed"] as Data), next)
        }
        #expect(next == 3)
        let box = PayloadBox(key: service.derivedKey("payloads"))
        #expect(box.open(payload.sealed, id: payload.id, addressee: "ann") == "a secret")
        let sessions = try await PageStore(in: service.tables).read { try $0.count("session") }
        #expect(sessions == 250)
        for file in ["backend.sqlite", "pages.sqlite"] {
            #expect(!FileManager.default.fileExists(atPath: scratch.file(file)))
            #expect(FileManager.default.fileExists(atPath: scratch.file("\(file).imported")))
        }
        let (_, again) = try await join(scratch, log, "a", secrets: secrets)
        #expect(again == [.nothing, .nothing])

        // Another node has the same content, and a file of its own stays where it is.
        let other = try ScratchFolder()
        _ = try await fill(other, user: "eve")
        let (second, refused) = try await join(other, log, "b", secrets: secrets)
        #expect(refused == [.differs, .differs])
        #expect(try await BackendStore(in: second.tables).accounts().map(\.name.text) == ["ann", "gone"])
        #expect(FileManager.default.fileExists(atPath: other.file("backend.sqlite")))
    }

    @Test func `nobody uses tables into which a file is being copied`() async throws {
        let (scratch, log) = (try ScratchFolder(), MemoryLog(incarnation: "log"))
        _ = try await fill(scratch)
        let secrets = scratch.file("secrets.key")
        await #expect(throws: Killed.self) {
            _ = try await join(scratch, log, "a", secrets: secrets, failingAfter: 2)
        }
        let (other, _) = try await join(try ScratchFolder(), log, "b", secrets: secrets)
        await #expect(throws: ProtocolError.self) { try await BackendStore(in: other.tables).accounts() }
    }
}
