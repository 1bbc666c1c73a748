import Foundation
import GRDB
import HubProtocol
import HubTestServer
import Logging
import OutboundHTTP
import SQLiteFiles
import SharedLog
import Synchronization
import Testing

@testable import AppBackend
@testable import HubServer
@testable import HubStore
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
                try await BackendStore.copy(scratch.file("backend.sqlite"), box, sealedWith: key) {
                    try await write($0)
                }
            )
            outcomes.add(try await PageStore.copy(scratch.file("pages.sqlite")) { try await write($0) })
        }
        let service = try await HubService(
            configuration,
            log: log.node(name),
            channel: MemoryChannel().node(name),
            logger: .quiet
        )
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

    @Test func `a hub that has left its log goes on with what it has, and its copies have no tokens`() async throws {
        let (scratch, log) = (try ScratchFolder(), MemoryLog(incarnation: "log"))
        let secrets = scratch.file("secrets.key")
        _ = try await fill(scratch)
        let (member, _) = try await join(scratch, log, "a", secrets: secrets)
        let path = scratch.file("hub.sqlite")
        let hash = try await member.tables.read { try $0.value("SELECT accountID FROM account") as Int64? }
        let account = try #require(hash)
        _ = try await StartTables(store: member.served.store, secrets: SecretBox(key: Array(repeating: 0, count: 32)))
            .write {
                try $0.execute(
                    "INSERT INTO token (accountID, hash, createdAt, expiresAt, usedAt) VALUES (?, x'00', 1, 2, 1)",
                    [account]
                )
                return true
            }
        try member.served.store.close()
        func tokens(in file: String) throws -> Int { try HubStore.readingTables(of: file) { try $0.count("token") } }
        try HubBackup.copy(path, to: scratch.file("joining.sqlite"))
        #expect(try tokens(in: scratch.file("joining.sqlite")) == 1, "the databases of all nodes must be equal")
        try LogMembership.end(path)
        try HubBackup.copy(path, to: scratch.file("copy.sqlite"))
        #expect(try (tokens(in: path), tokens(in: scratch.file("copy.sqlite"))) == (1, 0))

        var configuration = HubConfiguration(databasePath: path, hubName: try HubName("news"))
        configuration.secretsPath = secrets
        let alone = try await HubService(configuration, logger: .quiet)
        #expect(!alone.sharesLog && alone.usesTables)
        #expect(try await BackendStore(in: alone.tables).accounts().map(\.name.text) == ["ann", "gone"])
        try alone.served.store.close()
        // From an older copy a log begins without what may have been revoked since.
        try HubBackup.declareRestored(path)
        try LogMembership.begin(path, incarnation: "again", at: 1)
        #expect(try tokens(in: path) == 0)
    }

    @Test func `a command of this machine changes tables through the running hub, and only with its key`() async throws
    {
        let (scratch, log) = (try ScratchFolder(), MemoryLog(incarnation: "log"))
        var configuration = HubConfiguration(databasePath: scratch.file("hub.sqlite"), hubName: try HubName("news"))
        configuration.secretsPath = scratch.file("secrets.key")
        configuration.port = 0
        let path = configuration.databasePath
        let service = try await HubService(
            configuration,
            log: log.node("a"),
            channel: MemoryChannel().node("a"),
            logger: .quiet
        )
        let key = PushChannelSecret.random()
        let (port, running) = try await PortReport.start {
            try await service.run(mounting: [service.localChanges(key: key)], onRunning: $0)
        }
        let http = OutboundClient(userAgent: "newswire-test/1")
        func send(_ body: [UInt8], _ key: PushChannelSecret?, _ method: String = "POST") async throws -> Int {
            try await http.send(
                OutboundRequest(
                    method: method,
                    url: "http://127.0.0.1:\(port)\(HubService.localChangesPath)",
                    headers: key.map { [(name: HubService.localKeyHeader, value: $0.text)] } ?? [],
                    body: body,
                    maximumRedirects: 0,
                    addresses: .any
                )
            ).status
        }
        let result: Result<Void, any Error>
        do {
            let (id, change) = try PreparedChange.tried(on: path) { tables in
                try tables.execute("INSERT INTO invitation (hash, hub, expiresAt) VALUES (x'01', 'news', 9)")
                return tables.lastInsertedRowID
            }
            #expect(id == 1)
            #expect(try HubStore.readingTables(of: path) { try $0.count("invitation") } == 0, "it was undone")
            #expect(try await send(change.encoded, nil) == 404)
            #expect(try await send(change.encoded, .random()) == 404)
            #expect(try await send([1, 2, 3], key) == 400)
            #expect(try await send(change.encoded, key) == 204)
            #expect(try await send(change.encoded, key) != 204, "its hash is there already")
            let (_, removal) = try PreparedChange.tried(on: path) { try $0.execute("DELETE FROM invitation") }
            #expect(try await send(removal.encoded, key) == 204)
            #expect(try await send(removal.encoded, key) == 409, "it has nothing to remove any more")
            #expect(try log.entries.flatMap(\.statements).contains { $0.sql.hasPrefix("DELETE FROM invitation") })
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await http.shutdown()
        running.cancel()
        try await running.value
        try result.get()
    }
}
