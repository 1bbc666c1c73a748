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

@testable import AppBackend

/// An app backend that serves on a free port of loopback.
struct TestBackend: Sendable {
    /// Those who may notify others.
    static let senders = ["alice", "desk"]
    static let others = ["ann", "bob", "cat"]
    /// One derivation takes microseconds.
    static let hasher = PasswordHasher(
        parameters: ScryptParameters(rounds: 2, blockSize: 1, parallelism: 1)
    )

    let backend: AppBackend
    let store: BackendStore
    let port: Int
    let http: OutboundClient

    /// Runs a backend for the length of `body`, on a store that outlives it.
    static func run<Output>(
        _ hub: HubClient,
        store path: String,
        logger: Logger = .quiet,
        configure: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend) async throws -> Output
    ) async throws -> Output {
        var configuration = BackendConfiguration()
        configuration.hasher = hasher
        configure(&configuration)
        let store = try TestStore.open(path)
        try await addUsers(to: store)
        let backend = AppBackend(
            store: store,
            secrets: try PayloadBox(keyFile: path + ".key"),
            hub: hub,
            configuration: configuration,
            logger: logger
        )
        let (bound, running) = try await PortReport.start { report in
            let application = Application(
                responder: backend.responder(),
                configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
                onServerRunning: { report($0.localAddress?.port ?? 0) },
                logger: .quiet
            )
            try await ServiceGroup(
                configuration: .init(services: backend.services + [application], logger: .quiet)
            ).runStoppingWhenCancelled()
        }
        let http = OutboundClient(userAgent: "newswire-test/1")
        let result: Result<Output, any Error>
        do {
            result = .success(
                try await body(TestBackend(backend: backend, store: store, port: bound, http: http))
            )
        } catch {
            result = .failure(error)
        }
        await http.shutdown()
        running.cancel()
        try await running.value
        return try result.get()
    }

    /// Users as in the tutorials: the password is the name.
    static func addUsers(to store: BackendStore) async throws {
        let accounts = Accounts(store: store, hasher: hasher)
        for text in senders + others {
            guard let name = UserName(text), let password = Password(text) else { throw TestHub.NotStarted() }
            guard try await accounts.account(named: name) == nil else { continue }
            try await accounts.add(name, password: password, mayNotifyOthers: senders.contains(text))
        }
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
        try await send(method, target, as: user, headers: headers, bytes: body.map { Array($0.utf8) })
    }

    /// Sends one request whose body need not be text.
    func send(
        _ method: String,
        _ target: String,
        as user: String?,
        headers: [(String, String)] = [],
        bytes body: [UInt8]?
    ) async throws -> BackendReply {
        var headers = headers
        if let user {
            let credentials = Data("\(user):\(user.lowercased())".utf8).base64EncodedString()
            headers.append(("Authorization", "Basic \(credentials)"))
        }
        if body != nil { headers.append(("Content-Type", "application/json")) }
        let reply = try await http.send(
            OutboundRequest(
                method: method,
                url: "http://127.0.0.1:\(port)\(target)",
                headers: headers,
                body: body,
                totalTimeout: .seconds(600),
                idleTimeout: .seconds(600),
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

/// Clocks that stand still until they are told.
final class TestClock: Sendable {
    private let passed = Mutex(Duration.zero)

    var monotonic: Duration { passed.withLock { $0 } }
    var date: Date { Date(timeIntervalSince1970: 1_900_000_000 + Double(monotonic.milliseconds) / 1_000) }

    func advance(by time: Duration) { passed.withLock { $0 += time } }

    var backend: BackendClock {
        BackendClock(now: { [self] in Timestamp(date) }, monotonic: { [self] in monotonic })
    }
}
