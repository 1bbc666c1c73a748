import Foundation
import GRDB
import HubClient
import HubProtocol
import HubRouting
import HubStore
import HubTestServer
import Logging
import MountedBackend
import OutboundHTTP
import Synchronization
import Testing
import WebPages

@testable import AppBackend
@testable import HubServer
@testable import PageServer

/// A server with pages on a free port of loopback; of its hubs, `closed` is disabled.
struct PagesHub: Sendable {
    static let others = ["town", "closed", "assets", "sw.js"]

    let service: HubService
    let pages: PageServer
    let clock: TestClock
    /// Of the hub `news`, with Manage.
    let client: HubClient
    private let database: String
    private let port: Int
    private let http: OutboundClient

    /// Runs it for the length of `body`; `users` can sign in at `news`, each with the name as the password.
    static func run(
        _ access: PageAccess? = .invited,
        users: [String] = [],
        appearances: [HubName: PageAppearance] = [:],
        images: Bool = false,
        configure: (inout HubConfiguration) -> Void = { _ in },
        _ body: (PagesHub) async throws -> Void
    ) async throws {
        let (scratch, clock, name) = (try ScratchFolder(), TestClock(), try HubName("news"))
        var configuration = HubConfiguration(databasePath: scratch.file("hub.sqlite"), hubName: name)
        configuration.port = 0
        configuration.provisions.hubs = try others.map {
            HubProvisions.Hub(name: try HubName($0), registrationTimeToLive: nil, rules: [])
        }
        configuration.pages = access
        configure(&configuration)
        let service = try await HubService(configuration, logger: .quiet)
        let store = try PageStore(path: scratch.file("pages.sqlite"))
        let backend = users.isEmpty ? nil : try await mount(users, in: scratch, on: service)
        let http = OutboundClient(userAgent: "newswire-test/1")
        let pages = try PageServer(
            store: store,
            on: service,
            configuration,
            appearances: appearances,
            images: images ? (http, .any) : nil,
            backend: backend,
            clock: clock.backend,
            // Tests check the database themselves.
            checkInterval: .seconds(86_400),
            logger: .quiet
        )
        let (bound, running) = try await PortReport.start {
            try await service.run(mounting: [pages.application], onRunning: $0)
        }
        let result: Result<Void, any Error>
        do {
            let strings = try service.connectionStrings(endpoint: "http://127.0.0.1:\(bound)/")
            let full = try #require(strings.first { $0.keyName == AccessRule.defaultFullName })
            let client = try HubClient(connection: full, hub: name, http: http)
            let hub = PagesHub(
                service: service,
                pages: pages,
                clock: clock,
                client: client,
                database: scratch.file("backend.sqlite"),
                port: bound,
                http: http
            )
            try await hub.disable("closed")
            result = .success(try await body(hub))
        } catch {
            result = .failure(error)
        }
        await http.shutdown()
        running.cancel()
        try await running.value
        try result.get()
    }

    private static func mount(
        _ users: [String],
        in scratch: ScratchFolder,
        on service: HubService
    ) async throws -> BackendMount {
        // One derivation takes microseconds.
        let hasher = PasswordHasher(parameters: ScryptParameters(rounds: 2, blockSize: 1, parallelism: 1))
        let files = BackendMount.Files(database: scratch.file("backend.sqlite"), key: scratch.file("backend.key"))
        let accounts = Accounts(store: try BackendStore(path: scratch.file("backend.sqlite")), hasher: hasher)
        for user in users {
            let name = try #require(UserName(user))
            let password = try #require(Password(user))
            try await accounts.add(name, password: password, mayNotifyOthers: user == users.first)
        }
        var configuration = BackendConfiguration()
        configuration.hasher = hasher
        return BackendMount(files, on: service, configuration: configuration, logger: .quiet)
    }

    var store: PageStore { pages.store }

    /// The accounts of the users who can sign in.
    func accounts() throws -> Accounts { Accounts(store: try BackendStore(path: database)) }

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

    var authority: String { "127.0.0.1:\(port)" }

    private func disable(_ name: String) async throws {
        try await service.directory.hub(named: name).perform { _, view in
            var policy = view.policy
            policy.isDisabled = true
            return ((), [PolicyEffect(policy)])
        }
    }

    /// Sends one request as a browser does; a form comes from a page of our own unless `headers` say otherwise.
    func send(
        _ method: String,
        _ path: String,
        cookie: String? = nil,
        headers: [(String, String)]? = nil,
        form: String? = nil
    ) async throws -> Reply {
        var fields = headers ?? (method == "GET" ? [] : [("Sec-Fetch-Site", "same-origin")])
        if let cookie { fields.append(("Cookie", cookie)) }
        let reply = try await http.send(
            OutboundRequest(
                method: method,
                url: "http://\(authority)\(path)",
                headers: fields.map { (name: $0.0, value: $0.1) },
                body: method == "GET" ? nil : Array((form ?? "").utf8),
                totalTimeout: .seconds(600),
                idleTimeout: .seconds(600),
                maximumRedirects: 0,
                addresses: .any
            )
        )
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
            let rows = try Row.fetchAll(db, sql: "SELECT installation, categories FROM session")
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
