import AppBackend
import Foundation
import HTTPTypes
import HubClient
import HubProtocol
import HubServer
import HubTestServer
import Hummingbird
import Logging
import NIOCore
import OutboundHTTP
import ServiceLifecycle
import Synchronization

/// An app backend that serves on a free port of loopback.
///
/// Its users sign in as in the tutorials: any name with the same text as its password.
struct TestBackend: Sendable {
    /// Those who may notify others.
    static let senders: Set<String> = ["alice", "desk"]

    let backend: AppBackend
    let port: Int
    let http: OutboundClient

    /// Runs a backend for the length of `body`, on a store that outlives it.
    static func run<Output>(
        _ hub: HubClient,
        store path: String,
        configure: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend) async throws -> Output
    ) async throws -> Output {
        var configuration = BackendConfiguration()
        configure(&configuration)
        let backend = AppBackend(
            store: try BackendStore(path: path),
            hub: hub,
            configuration: configuration,
            logger: .quiet
        )
        let (ports, port) = AsyncStream<Int>.makeStream()
        let application = Application(
            responder: backend.responder(identifying: [], signingIn: [TutorialSignIn(senders: senders)]),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { channel in
                port.yield(channel.localAddress?.port ?? 0)
                port.finish()
            },
            logger: .quiet
        )
        let group = ServiceGroup(configuration: .init(services: [application], logger: .quiet))
        let running = Task { try await group.runStoppingWhenCancelled() }
        var iterator = ports.makeAsyncIterator()
        guard let bound = await iterator.next() else { throw TestHub.NotStarted() }
        let http = OutboundClient(userAgent: "newswire-test/1")
        let result: Result<Output, any Error>
        do {
            result = .success(try await body(TestBackend(backend: backend, port: bound, http: http)))
        } catch {
            result = .failure(error)
        }
        await http.shutdown()
        running.cancel()
        try await running.value
        return try result.get()
    }

    /// Runs a hub and a backend in front of it.
    static func run<Output>(
        configure: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, TestHub) async throws -> Output
    ) async throws -> Output {
        let scratch = try ScratchFolder()
        return try await TestHub.run { hub in
            try await run(hub.client, store: scratch.file("backend.sqlite"), configure: configure) { backend in
                try await body(backend, hub)
            }
        }
    }

    /// Sends one request; without a user it has no credentials.
    func send(
        _ method: String,
        _ target: String,
        as user: String?,
        headers: [(String, String)] = [],
        _ body: String? = nil
    ) async throws -> BackendReply {
        var headers = headers
        if let user {
            headers.append(("Authorization", "Basic \(Data("\(user):\(user)".utf8).base64EncodedString())"))
        }
        if body != nil { headers.append(("Content-Type", "application/json")) }
        let reply = try await http.send(
            OutboundRequest(
                method: method,
                url: "http://127.0.0.1:\(port)\(target)",
                headers: headers,
                body: body.map { Array($0.utf8) },
                maximumRedirects: 0,
                addresses: .any
            )
        )
        return BackendReply(
            status: reply.status,
            headers: reply.headers,
            body: String(decoding: reply.body, as: UTF8.self)
        )
    }
}

struct BackendReply: Sendable {
    let status: Int
    let headers: OutboundHeaders
    let body: String
}

/// Believes whoever gives their name as their password.
struct TutorialSignIn: RouterMiddleware {
    let senders: Set<String>

    func handle(
        _ request: Request,
        context: BackendRequestContext,
        next: (Request, BackendRequestContext) async throws -> Response
    ) async throws -> Response {
        let words = (request.headers[.authorization] ?? "").split(separator: " ")
        guard words.count == 2, words[0] == "Basic", let data = Data(base64Encoded: String(words[1])) else {
            throw BackendRefusal.unauthorized("The request has no credentials.")
        }
        let parts = String(decoding: data, as: UTF8.self).split(separator: ":", maxSplits: 1)
        guard parts.count == 2, parts[0] == parts[1], let name = UserName(String(parts[0])) else {
            throw BackendRefusal.unauthorized("The credentials are wrong.")
        }
        var context = context
        context.caller = Caller(name: name, mayNotifyOthers: senders.contains(name.key))
        return try await next(request, context)
    }
}

/// Clocks that stand still until they are told.
final class TestClock: Sendable {
    private let passed = Mutex(Duration.zero)

    var monotonic: Duration { passed.withLock { $0 } }
    var date: Date { Date(timeIntervalSince1970: 1_900_000_000 + Double(monotonic.milliseconds) / 1_000) }

    func advance(by time: Duration) { passed.withLock { $0 += time } }
}

/// Notes of the audit.
final class TestNotes: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    func add(_ line: String) { lines.withLock { $0.append(line) } }
}
