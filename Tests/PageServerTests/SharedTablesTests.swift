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
    private static let secret = String(repeating: "s", count: 16_000)
    private static let hasher = PasswordHasher(parameters: ScryptParameters(rounds: 2, blockSize: 1, parallelism: 1))

    /// Fills the files of a hub that had no log.
    private func fill(_ scratch: ScratchFolder, user: String = "ann") async throws {
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
        // More than an entry of the log can have.
        for _ in 0..<90 {
            _ = try await store.changePayloads { table in
                try table.insert(for: user, from: user, within: PayloadBounds(), now: 0, expiresAt: .distantFuture) {
                    id in
                    try box.seal(Self.secret, id: id, addressee: user)
                }
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
    }

    /// Opens a node with a log, which copies its files; it is killed after so many changes.
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
            let hub = MortalTables(tables: tables, limit: limit)
            let box = PayloadBox(key: tables.derivedKey("payloads"))
            let (accounts, key) = (scratch.file("backend.sqlite"), scratch.file("backend.key"))
            outcomes.add(try await BackendStore.copy(accounts, key: key, sealedWith: box, into: hub))
            outcomes.add(try await PageStore.copy(scratch.file("pages.sqlite"), into: hub))
        }
        let service = try await HubService(
            configuration,
            log: log.node(name),
            channel: MemoryChannel().node(name),
            logger: .quiet
        )
        return (service, outcomes.all)
    }

    /// Tables whose process ends after so many changes.
    private final class MortalTables: TableDatabase {
        private let tables: StartTables
        private let left: Mutex<Int>

        init(tables: StartTables, limit: Int) {
            self.tables = tables
            left = Mutex(limit)
        }

        var failure: String? { nil }
        func check() async -> String? { nil }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (TableTransaction) throws -> Value
        ) async throws -> Value { try await tables.read(body) }

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (TableTransaction) throws -> Value
        ) async throws -> Value {
            let isAlive = left.withLock { left in
                left -= 1
                return left >= 0
            }
            guard isAlive else { throw Killed() }
            return try await tables.write(body)
        }
    }

    private struct Killed: Error {}

    private final class Outcomes: Sendable {
        private let list = Mutex<[TableImport.Outcome]>([])
        var all: [TableImport.Outcome] { list.withLock { $0 } }
        var count: Int { all.count }
        func add(_ outcome: TableImport.Outcome) { list.withLock { $0.append(outcome) } }
    }

    @Test func `files of a hub that had no log are copied once, at whichever step it was killed before`() async throws {
        let (scratch, log) = (try ScratchFolder(), MemoryLog(incarnation: "log", limit: 1 << 20))
        let secrets = scratch.file("secrets.key")
        try await fill(scratch)
        for limit in [1, 3, 6, 10, 13] {
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
        #expect(box.open(payload.sealed, id: payload.id, addressee: "ann") == Self.secret)
        let sessions = try await PageStore(in: service.tables).read { try $0.count("session") }
        #expect(sessions == 250)
        for file in ["backend.sqlite", "backend.key", "pages.sqlite"] {
            #expect(!FileManager.default.fileExists(atPath: scratch.file(file)))
            #expect(FileManager.default.fileExists(atPath: scratch.file("\(file).imported")))
        }
        let (_, again) = try await join(scratch, log, "a", secrets: secrets)
        #expect(again == [.nothing, .nothing])

        // A kill before the files were renamed: what has been deleted since does not come back.
        try await removeAccount("ann", log, secrets)
        for file in ["backend.sqlite", "backend.key"] {
            try FileManager.default.moveItem(atPath: scratch.file("\(file).imported"), toPath: scratch.file(file))
        }
        let (late, renamed) = try await join(scratch, log, "a", secrets: secrets)
        guard case .copied = renamed.first else { return #expect(Bool(false), "\(renamed)") }
        #expect(try await BackendStore(in: late.tables).accounts().map(\.name.text) == ["gone"])
        #expect(!FileManager.default.fileExists(atPath: scratch.file("backend.key")))

        // Another node has the same content, and a file of its own stays where it is.
        let other = try ScratchFolder()
        try await fill(other, user: "eve")
        let (second, refused) = try await join(other, log, "b", secrets: secrets)
        #expect(refused == [.differs, .differs])
        #expect(try await BackendStore(in: second.tables).accounts().map(\.name.text) == ["gone"])
        #expect(FileManager.default.fileExists(atPath: other.file("backend.sqlite")))
    }

    /// Removes an account at another node.
    private func removeAccount(_ name: String, _ log: MemoryLog, _ secrets: String) async throws {
        let (node, _) = try await join(try ScratchFolder(), log, "c", secrets: secrets)
        let tables = StartTables(store: node.served.store, secrets: SecretBox(key: Array(repeating: 0, count: 32)))
        try await Accounts(store: BackendStore(in: tables)).remove(try #require(UserName(name)))
    }

    @Test func `what changes something, or has a password, is carried out by the node that writes`() async throws {
        try await PagesHub.run(.public, users: ["ann"], nodes: 2) { hub in
            let channel = try #require(hub.shared?.channel)
            try await hub.hearWriter()
            let password = [("Authorization", "Basic \(Data("ann:ann".utf8).base64EncodedString())")]
            #expect(try await hub.send("GET", "/-/news/", node: 1).status == 200)
            #expect(try await hub.send("GET", "/api/notifications/1", headers: password, node: 1).status == 404)
            #expect(channel.requests == ["n"], "a page is read where it is asked for")
            let wrong = [("Authorization", "Basic \(Data("ann:wrong".utf8).base64EncodedString())")]
            for number in 0..<10 {
                let reply = try await hub.send("GET", "/api/notifications/1", headers: wrong, node: number % 2)
                // Guesses at both nodes count together.
                #expect(reply.status == (number < GuessLimiter.freeAttempts ? 401 : 429), "\(number)")
            }
            let login = try await hub.send("POST", "/api/login", headers: password, form: "{}", node: 1)
            #expect(login.status == 200, "\(login.body)")
            #expect(try await hub.send("POST", "/-/news/categories", form: "category=World", node: 1).status == 303)
            #expect(Set(channel.requests) == ["n"] && channel.requests.count == 8)
        }
    }

    @Test func `without the log nobody is served from what may be outdated, and afterwards everybody`() async throws {
        try await PagesHub.run(.public, users: ["ann"], nodes: 2) { hub in
            let log = try #require(hub.shared?.log)
            let cookie = try await hub.reader(of: "World")
            log.setAway(true)
            let page = try await hub.send("GET", "/-/news/", cookie: cookie, node: 0)
            #expect(page.status == 503 && page.headers["Content-Type"]?.hasPrefix("text/html") == true)
            let form = try await hub.send("POST", "/-/news/categories", cookie: cookie, form: "category=World", node: 0)
            #expect(form.status == 503, "\(form.status)")
            let call = try await hub.send(
                "GET",
                "/api/notifications/1",
                headers: [("Authorization", "Bearer x")],
                node: 0
            )
            #expect(call.status == 503 && call.body.hasPrefix(#"{"error":"#), "\(call.body)")
            log.setAway(false)
            var status = 0
            for _ in 0..<100_000 where status != 200 {
                status = try await hub.send("GET", "/-/news/", cookie: cookie, node: 0).status
            }
            #expect(status == 200)
        }
    }

    @Test func `nobody uses tables into which a file is being copied`() async throws {
        let (scratch, log) = (try ScratchFolder(), MemoryLog(incarnation: "log"))
        try await fill(scratch)
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
        try await fill(scratch)
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
