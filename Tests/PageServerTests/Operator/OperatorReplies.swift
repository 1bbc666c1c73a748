import AppBackend
import Foundation
import HubClient
import HubProtocol
import HubServer
import HubTestServer
import Logging
import OutboundHTTP
import Synchronization
import Testing
import WebPages

@testable import PageServer

/// The hubs `news` and `town` with pages that everybody may read, on a free port of loopback.
struct OperatorHub: Sendable {
    struct NotStarted: Error {}

    /// The pages' clock, which tests set.
    final class Clock: Sendable {
        private let time = Mutex(Timestamp(Date()))

        var now: Timestamp { time.withLock { $0 } }

        func advance(by duration: Duration) { time.withLock { $0 = $0 + duration } }
    }

    let store: PageStore
    let clock: Clock
    /// Of the hub `news`, with Manage.
    let client: HubClient
    private let port: Int
    private let http: OutboundClient

    /// Runs it for the length of `body`.
    static func run(_ body: (OperatorHub) async throws -> Void) async throws {
        let (scratch, clock, name) = (try ScratchFolder(), Clock(), try HubName("news"))
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let town = HubProvisions.Hub(name: try HubName("town"), registrationTimeToLive: nil, rules: [])
        var configuration = HubConfiguration(databasePath: scratch.file("hub.sqlite"), hubName: name)
        configuration.port = 0
        configuration.pages = .public
        configuration.provisions.hubs = [town]
        let service = try await HubService(configuration, logger: logger)
        let pages = try PageServer(
            store: try PageStore(path: scratch.file("pages.sqlite")),
            on: service,
            configuration,
            clock: BackendClock(now: { clock.now }, monotonic: { .zero }),
            logger: logger
        )
        let (ports, port) = AsyncStream<Int>.makeStream()
        let running = Task {
            defer { port.finish() }
            try await service.run(mounting: [pages.application]) { port.yield($0) }
        }
        var iterator = ports.makeAsyncIterator()
        guard let bound = await iterator.next() else {
            try await running.value
            throw NotStarted()
        }
        let http = OutboundClient(userAgent: "newswire-test/1")
        let result: Result<Void, any Error>
        do {
            let strings = try service.connectionStrings(endpoint: "http://127.0.0.1:\(bound)/")
            let full = try #require(strings.first { $0.keyName == AccessRule.defaultFullName })
            let client = try HubClient(connection: full, hub: name, http: http)
            let hub = OperatorHub(store: pages.store, clock: clock, client: client, port: bound, http: http)
            result = .success(try await body(hub))
        } catch {
            result = .failure(error)
        }
        await http.shutdown()
        running.cancel()
        try await running.value
        try result.get()
    }

    /// Sends one request as a browser does; a form comes from a page of our own unless `headers` say otherwise.
    func send(
        _ method: String,
        _ path: String,
        cookie: String? = nil,
        headers: [(String, String)]? = nil,
        form: String = ""
    ) async throws -> OperatorReply {
        var fields = headers ?? (method == "GET" ? [] : [("Sec-Fetch-Site", "same-origin")])
        if let cookie { fields.append(("Cookie", cookie)) }
        let reply = try await http.send(
            OutboundRequest(
                method: method,
                url: "http://127.0.0.1:\(port)\(path)",
                headers: fields.map { (name: $0.0, value: $0.1) },
                body: method == "GET" ? nil : Array(form.utf8),
                totalTimeout: .seconds(600),
                idleTimeout: .seconds(600),
                maximumRedirects: 0,
                addresses: .any
            )
        )
        return OperatorReply(
            status: reply.status,
            body: String(decoding: reply.body, as: UTF8.self),
            location: reply.headers["Location"],
            cookie: reply.headers["Set-Cookie"],
            cacheControl: reply.headers["Cache-Control"]
        )
    }

    /// Begins a reader's session, and gives its cookie as browsers send it.
    func subscribe(_ category: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let reply = try await send("POST", "/-/news/categories", form: "category=\(category)")
        let setting = try #require(reply.cookie, "\(reply.body)", sourceLocation: sourceLocation)
        return String(setting.prefix { $0 != ";" })
    }
}

struct OperatorReply: Sendable {
    let status: Int
    let body: String
    let location: String?
    let cookie: String?
    let cacheControl: String?

    /// The value of a hidden field.
    func field(_ name: String) -> String? {
        let start = body.firstRange(of: "name=\"\(name)\" value=\"")?.upperBound
        return start.map { String(body[$0...].prefix { $0 != "\"" }) }
    }
}
