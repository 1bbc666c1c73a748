import Foundation
import GRDB
import HubClient
import HubProtocol
import HubRouting
import HubStore
import HubTestServer
import Logging
import MountedBackend
import SQLiteFiles
import SharedLog
import OutboundHTTP
import Synchronization
import Testing
import WebPages

@testable import AppBackend
@testable import HubServer
@testable import PageServer

/// A server with pages on a free port of loopback; of its hubs, `closed` is disabled.
///
/// With `NEWSWIRE_TEST_NODES` in the environment it is so many nodes with one log, which take turns with the requests, and
/// whose tables must be equal at the end.
struct PagesHub: Sendable {
    static let others = ["town", "closed", "assets", "sw.js"]
    static let allNodes = ProcessInfo.processInfo.environment["NEWSWIRE_TEST_NODES"].flatMap { Int($0) } ?? 1

    private static let names = ["", "b", "c"]

    /// A node that serves.
    private struct Node: Sendable {
        let service: HubService
        let pages: PageServer
        let backend: BackendMount?
        let port: Int
        let running: Task<Void, any Error>
    }

    private struct Start {
        let scratch: ScratchFolder
        let hasUsers: Bool
        let appearances: [HubName: PageAppearance]
        let images: OutboundClient?
        let clock: TestClock
        /// The log and the messages of several nodes.
        let shared: (log: MemoryLog, channel: MemoryChannel)?
    }

    let service: HubService
    let pages: PageServer
    let clock: TestClock
    /// Of the hub `news`, with Manage.
    let client: HubClient
    /// The log and the messages of several nodes.
    let shared: (log: MemoryLog, channel: MemoryChannel)?
    private let database: String
    private let nodes: [Node]
    private let turns: Turns
    private let jar = Jar()
    private let http: OutboundClient

    /// The positions in the cookies of sessions: a browser sends what it got last.
    private final class Jar: Sendable {
        private let cookies = Mutex<[Substring: String]>([:])

        private static func session(_ cookie: String) -> Substring { cookie.prefix { $0 != "~" } }

        func latest(of cookie: String) -> String { cookies.withLock { $0[Self.session(cookie)] } ?? cookie }

        func note(_ set: String, instead cookie: String) {
            let value = String(set.prefix { $0 != ";" })
            // Another session, or the end of this one, is the test's affair.
            guard Self.session(value) == Self.session(cookie) else { return }
            cookies.withLock { $0[Self.session(cookie)] = value }
        }
    }

    /// Whose turn it is.
    private final class Turns: Sendable {
        private let next = Mutex(0)

        func take(of count: Int) -> Int {
            next.withLock { next in
                defer { next = (next + 1) % count }
                return next
            }
        }
    }

    /// Runs it for the length of `body`; `users` can sign in at `news`, each with the name as the password.
    ///
    /// `nodes` is 1 for a test that looks into the node, or at what each node has for itself.
    static func run(
        _ access: PageAccess? = .invited,
        users: [String] = [],
        appearances: [HubName: PageAppearance] = [:],
        images: Bool = false,
        nodes: Int = PagesHub.allNodes,
        configure: (inout HubConfiguration) -> Void = { _ in },
        _ body: (PagesHub) async throws -> Void
    ) async throws {
        let (scratch, clock) = (try ScratchFolder(), TestClock())
        let http = OutboundClient(userAgent: "newswire-test/1")
        var started: [Node] = []
        var shared: (log: MemoryLog, channel: MemoryChannel)?
        let result: Result<Void, any Error>
        do {
            let start = Start(
                scratch: scratch,
                hasUsers: !users.isEmpty,
                appearances: appearances,
                images: images ? http : nil,
                clock: clock,
                shared: nodes > 1 ? (MemoryLog(incarnation: "log"), MemoryChannel()) : nil
            )
            shared = start.shared
            if nodes == 1, !users.isEmpty {
                try await add(users, to: try BackendStore(path: scratch.file("backend.sqlite")))
            }
            for name in names.prefix(nodes) {
                var configuration = HubConfiguration(
                    databasePath: scratch.file("hub\(name).sqlite"),
                    hubName: try HubName("news")
                )
                configuration.secretsPath = scratch.file("secrets.key")
                configuration.generationPath = scratch.file("generation\(name)")
                configuration.port = 0
                configuration.provisions.hubs = try others.map {
                    HubProvisions.Hub(name: try HubName($0), registrationTimeToLive: nil, rules: [])
                }
                configuration.pages = access
                // A stage runs again when another node was first.
                configuration.rehearsesStages = nodes > 1
                configure(&configuration)
                started.append(try await node(name, configuration, start))
            }
            if nodes > 1, !users.isEmpty {
                try await add(users, to: BackendStore(in: started[0].service.tables))
                // They look for users when they are first asked.
                for node in started { _ = try await node.backend?.backend() }
            }
            result = .success(try await serve(started, shared, scratch, clock, http, body))
        } catch {
            result = .failure(error)
        }
        await http.shutdown()
        for node in started { node.running.cancel() }
        for node in started { try await node.running.value }
        try result.get()
    }

    private static func serve(
        _ nodes: [Node],
        _ shared: (log: MemoryLog, channel: MemoryChannel)?,
        _ scratch: ScratchFolder,
        _ clock: TestClock,
        _ http: OutboundClient,
        _ body: (PagesHub) async throws -> Void
    ) async throws {
        let first = nodes[0]
        let strings = try first.service.connectionStrings(endpoint: "http://127.0.0.1:\(first.port)/")
        let full = try #require(strings.first { $0.keyName == AccessRule.defaultFullName })
        let hub = PagesHub(
            service: first.service,
            pages: first.pages,
            clock: clock,
            client: try HubClient(connection: full, hub: try HubName("news"), http: http),
            shared: shared,
            database: scratch.file("backend.sqlite"),
            nodes: nodes,
            turns: Turns(),
            http: http
        )
        try await hub.disable("closed")
        try await hub.catchUp()
        try await body(hub)
        // Upkeep, which writes the audit log every second, must not do so between the reads.
        if nodes.count > 1 { for node in nodes { await (try await node.backend?.backend())?.audit.flush() } }
        try await hub.catchUp()
        let contents = try await Self.contents(of: nodes)
        for content in contents.dropFirst() {
            for (table, rows) in content { #expect(rows == contents[0][table], "\(table)") }
        }
    }

    private static func node(_ name: String, _ configuration: HubConfiguration, _ start: Start) async throws -> Node {
        let scratch = start.scratch
        let service: HubService =
            if let (log, channel) = start.shared {
                try await HubService(
                    configuration,
                    log: log.node("n\(name)"),
                    channel: channel.node("n\(name)"),
                    logger: .quiet
                )
            } else {
                try await HubService(
                    configuration,
                    logger: .quiet
                )
            }
        let isShared = start.shared != nil
        let backend = start.hasUsers ? mount(in: scratch, on: service, isShared: isShared) : nil
        let pages = try PageServer(
            store: isShared
                ? PageStore(in: service.tables) : try PageStore(path: scratch.file("pages.sqlite")),
            on: service,
            configuration,
            appearances: start.appearances,
            images: start.images.map { ($0, .any) },
            backend: backend,
            clock: start.clock.backend,
            // Tests check the database themselves.
            checkInterval: .seconds(86_400),
            logger: .quiet
        )
        let (bound, running) = try await PortReport.start {
            // With files of its own, the app backend would open them before a test does.
            let applications = [pages.application, isShared ? backend?.application : nil].compactMap(\.self)
            try await service.run(mounting: applications, onRunning: $0)
        }
        return Node(service: service, pages: pages, backend: backend, port: bound, running: running)
    }

    // One derivation takes microseconds.
    private static let hasher = PasswordHasher(parameters: ScryptParameters(rounds: 2, blockSize: 1, parallelism: 1))

    private static func add(_ users: [String], to store: BackendStore) async throws {
        let accounts = Accounts(store: store, hasher: hasher)
        for user in users {
            let name = try #require(UserName(user))
            let password = try #require(Password(user))
            try await accounts.add(name, password: password, mayNotifyOthers: user == users.first)
        }
    }

    private static func mount(in scratch: ScratchFolder, on service: HubService, isShared: Bool) -> BackendMount {
        var configuration = BackendConfiguration()
        configuration.hasher = hasher
        let storage: BackendMount.Storage =
            isShared
            ? .tables(service.tables, key: service.derivedKey(BackendMount.payloadKey))
            : .files(database: scratch.file("backend.sqlite"), key: scratch.file("backend.key"))
        return BackendMount(storage, on: service, configuration: configuration, logger: .quiet)
    }

    var store: PageStore { pages.store }

    /// The accounts of the users who can sign in.
    func accounts() throws -> Accounts {
        Accounts(store: nodes.count > 1 ? BackendStore(in: service.tables) : try BackendStore(path: database))
    }

    /// The rows of the tables of people and pages, of each node.
    private static func contents(of nodes: [Node]) async throws -> [[String: [String]]] {
        var contents: [[String: [String]]] = []
        for node in nodes where nodes.count > 1 {
            contents.append(
                try await node.pages.store.read { tables in
                    let names: [String] = try tables.values(
                        """
                        SELECT name FROM sqlite_schema WHERE type = 'table' AND name IN ('account', 'token', 'audit',
                            'device', 'deviceAlias', 'payload', 'session', 'sessionStart', 'invitation',
                            'operatorInvitation', 'operatorSession', 'operatorAction', 'feedAddress', 'deskDraft')
                        """
                    )
                    return try names.reduce(into: [:]) { content, name in
                        content[name] = try tables.rows("SELECT * FROM \(name)").map(Self.text).sorted()
                    }
                }
            )
        }
        return contents
    }

    /// A row with everything in it; its description leaves out the content of blobs.
    private static func text(_ row: Row) -> String {
        row.databaseValues.map { value in
            if case .blob(let data) = value.storage { data.base64EncodedString() } else { "\(value)" }
        }.joined(separator: " ")
    }

    /// The other nodes know that the first one writes.
    func hearWriter() async throws {
        guard nodes.count > 1 else { return }
        let writers = try #require(nodes[0].service.nodes?.forwarding.writers)
        for _ in 0..<WriterWatch.looksPerHeartbeat { writers.look() }
        for name in Self.names.prefix(nodes.count).dropFirst() { await shared?.channel.settle("n\(name)") }
        for node in nodes.dropFirst() { try #require(!node.service.isWriter) }
    }

    /// All nodes have what the others have written.
    private func catchUp() async throws { for node in nodes { try await node.service.catchUp() } }

    /// Holds the users' database as another process does that migrates it, until the connection is closed.
    func lockUsers() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA locking_mode = EXCLUSIVE") }
        let queue = try DatabaseQueue(path: database, configuration: configuration)
        // The lock lasts beyond this transaction.
        try queue.write { try $0.execute(sql: "PRAGMA user_version = 1; PRAGMA user_version = 0") }
        return queue
    }

    var authority: String { "127.0.0.1:\(nodes[0].port)" }

    private func disable(_ name: String) async throws {
        let hub = try service.directory.hub(named: name)
        let key = hub.record.id
        try await hub.perform { transaction, _ in
            var stored = try #require(try transaction.hub(id: key))
            stored.description.isDisabled = true
            try transaction.update(stored)
            return ((), [PolicyEffect(stored.policy)])
        }
    }

    /// Sends one request as a browser does; a form comes from a page of our own unless `headers` say otherwise.
    func send(
        _ method: String,
        _ path: String,
        cookie: String? = nil,
        headers: [(String, String)]? = nil,
        form: String? = nil,
        node number: Int? = nil
    ) async throws -> Reply {
        var fields = headers ?? (method == "GET" ? [] : [("Sec-Fetch-Site", "same-origin")])
        if let cookie { fields.append(("Cookie", jar.latest(of: cookie))) }
        let node = nodes[number ?? turns.take(of: nodes.count)]
        let reply = try await http.send(
            OutboundRequest(
                method: method,
                url: "http://127.0.0.1:\(node.port)\(path)",
                headers: fields.map { (name: $0.0, value: $0.1) },
                body: method == "GET" ? nil : Array((form ?? "").utf8),
                totalTimeout: .seconds(600),
                idleTimeout: .seconds(600),
                maximumRedirects: 0,
                addresses: .any
            )
        )
        // Without the log, they cannot.
        if nodes.count > 1 { try? await catchUp() }
        if let cookie, let set = reply.headers["Set-Cookie"] { jar.note(set, instead: cookie) }
        return Reply(status: reply.status, headers: reply.headers, body: String(decoding: reply.body, as: UTF8.self))
    }

    /// Lets a browser in, which chooses categories, and gives its cookie as browsers send it.
    func reader(
        of categories: String...,
        in hub: String = "news",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let cookie = try await entered(hub, sourceLocation: sourceLocation)
        let form = categories.map { "category=\($0)" }.joined(separator: "&")
        let chosen = try await send("POST", "/-/\(hub)/categories", cookie: cookie, form: form)
        #expect(chosen.status == 303, "\(chosen.body)", sourceLocation: sourceLocation)
        return cookie
    }

    /// Lets a browser in that has chosen nothing yet, and gives its cookie as browsers send it.
    func entered(
        _ hub: String = "news",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let invitation = try await store.invite(to: try HubName(hub), at: clock.now)
        let entered = try await send("POST", "/-/\(hub)/enter", form: "code=\(invitation.code)")
        let setting = try #require(entered.headers["Set-Cookie"], "\(entered.body)", sourceLocation: sourceLocation)
        return String(setting.prefix { $0 != ";" })
    }

    /// What sessions have chosen, by installation.
    func sessions() async throws -> [String: String] {
        try await store.read { db in
            let rows = try Row.fetchAll(db.database, sql: "SELECT installation, categories FROM session")
            return Dictionary(uniqueKeysWithValues: rows.map { ($0["installation"], $0["categories"]) })
        }
    }

    /// True if the hub has an installation.
    func hasInstallation(_ id: String) async throws -> Bool {
        let any = PushChannelSecret.random()
        return try await client.installation(try InstallationID(id), comparing: .handle(any.text)) != nil
    }
}

struct Reply: Sendable {
    let status: Int
    let headers: OutboundHeaders
    let body: String
}

/// The pages' clock, which tests set.
final class TestClock: Sendable {
    private let time = Mutex(Timestamp(Date()))

    var now: Timestamp { time.withLock { $0 } }

    var backend: BackendClock { BackendClock(now: { self.now }, monotonic: { .zero }) }

    func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
}

extension Logger {
    static let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
}
