import Foundation
import HubServer
import Hummingbird
import Logging
import NIOCore
import NetworkAddresses
import OutboundHTTP
import ServiceLifecycle
import WebEdge

@testable import AppBackend

/// The routes for signing in, on a free port of this machine, with one route behind ``RequireCaller``: `GET /api/me`.
struct LoginServer: Sendable {
    let port: Int
    private let http = OutboundClient(userAgent: "newswire-test/1", maximumConnectionsPerHost: 64)

    /// Serves while `work` runs.
    static func run(
        _ bench: SignInBench,
        trustedProxies: [AddressBlock] = [],
        _ work: @escaping @Sendable (LoginServer) async throws -> Void
    ) async throws {
        let (ports, continuation) = AsyncStream<Int>.makeStream()
        let application = Application(
            router: router(bench.signIn, trustedProxies),
            configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)),
            onServerRunning: { continuation.yield($0.localAddress?.port ?? 0) },
            logger: SignInBench.quiet
        )
        let services = ServiceGroup(configuration: .init(services: [application], logger: SignInBench.quiet))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { continuation.finish() }
                try await services.runStoppingWhenCancelled()
            }
            for await port in ports {
                try await work(LoginServer(port: port))
                break
            }
            tasks.cancelAll()
            try await tasks.waitForAll()
        }
    }

    static let errors = BackendErrors(
        logger: SignInBench.quiet,
        hubFailures: HubFailureLog(logger: SignInBench.quiet, clock: .system)
    )

    private static func router(_ signIn: SignIn, _ proxies: [AddressBlock]) -> Router<WebContext<Caller>> {
        let router = Router(context: WebContext<Caller>.self, options: .caseInsensitive)
        router.add(middleware: errors)
        router.add(middleware: IdentifyClient<Caller>(trustedProxies: TrustedProxies(proxies)))
        let open = router.group().add(middleware: RefuseCrossSite<Caller>())
        open.post("/api/login") { try await LoginRoutes.logIn($0, $1, signIn) }
        open.post("/api/logout") { try await LoginRoutes.logOut($0, $1, signIn) }
        router.group().add(middleware: RequireCaller(signIn: signIn)).get("/api/me") { _, context in
            "\(try context.signedIn().name) \(context.client.network)"
        }
        return router
    }

    func send(
        _ method: String,
        _ path: String,
        _ headers: [String: String] = [:],
        _ body: String? = nil
    ) async throws -> OutboundResponse {
        try await http.send(
            OutboundRequest(
                method: method,
                url: "http://127.0.0.1:\(port)\(path)",
                headers: headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) },
                body: body.map { Array($0.utf8) } ?? (method == "POST" ? [] : nil),
                totalTimeout: .seconds(600),
                idleTimeout: .seconds(600),
                addresses: .any
            )
        )
    }

    /// Asks who a token's user is.
    func me(token: String) async throws -> OutboundResponse {
        try await send("GET", "/api/me", ["Authorization": "Bearer \(token)"])
    }
}

extension OutboundResponse {
    var text: String { String(decoding: body, as: UTF8.self) }

    /// The members of a JSON object whose values are texts.
    var members: [String: String] { (try? JSONDecoder().decode([String: String].self, from: Data(body))) ?? [:] }
}
