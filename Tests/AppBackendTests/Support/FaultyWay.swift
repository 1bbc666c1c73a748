import AppBackend
import HubClient
import HubProtocol
import HubServer
import HubTestServer
import OutboundHTTP
import Synchronization
import Testing

/// The way of requests to a hub: it passes them on, and loses, delays or replaces what it is told to.
final class FaultyWay: Sendable {
    /// What becomes of requests that change a registration or an installation.
    enum Fault: Sendable {
        /// The hub does what it is asked for; nobody learns of it.
        case lostAnswer
        /// The hub never hears of it.
        case lostRequest
        /// The hub hears of it only at ``FaultyWay/deliverLate()``, long after the connection has ended.
        case delay
        case refusal(Int)
        /// The answer comes after this work.
        case during(@Sendable () async -> Void)
    }

    private struct State {
        var fault: Fault?
        var delayed: [RecordedRequest] = []
    }

    private let state = Mutex(State())
    private let port: Int
    private let http: OutboundClient

    private init(port: Int, _ http: OutboundClient) {
        self.port = port
        self.http = http
    }

    /// Runs a backend whose calls pass a way with faults, and a hub at its end.
    static func run(
        configure: (inout BackendConfiguration) -> Void = { _ in },
        _ body: (TestBackend, TestHub, FaultyWay) async throws -> Void
    ) async throws {
        let scratch = try ScratchFolder()
        try await TestHub.run { hub in
            let http = OutboundClient(userAgent: "newswire-test/1")
            let way = FaultyWay(port: hub.port, http)
            let proxy = try ScriptedHTTPServer { way.answer($0) }
            let strings = try hub.service.connectionStrings(endpoint: proxy.baseURL)
            let full = try #require(strings.first { $0.keyName == AccessRule.defaultFullName })
            let client = try HubClient(connection: full, hub: HubName("news"), http: http)
            try await TestBackend.run(client, store: scratch.file("backend.sqlite"), configure: configure) { backend in
                try await body(backend, hub, way)
            }
            await http.shutdown()
        }
    }

    func set(_ fault: Fault?) { state.withLock { $0.fault = fault } }

    /// Passes on what was delayed.
    func deliverLate() async {
        let requests = state.withLock { state in
            defer { state.delayed = [] }
            return state.delayed
        }
        for request in requests { _ = try? await http.send(outbound(request)) }
    }

    /// Called on a thread of the proxy's own, which may wait.
    private func answer(_ request: RecordedRequest) -> ScriptedReply {
        let fault = request.method == "PUT" ? state.withLock { $0.fault } : nil
        switch fault {
        case nil: return pass(request)
        case .refusal(let status): return .status(status)
        case .lostRequest: return .hangUp
        case .delay:
            state.withLock { $0.delayed.append(request) }
            return .hangUp
        case .lostAnswer:
            _ = pass(request)
            return .hangUp
        case .during(let work):
            let answer = pass(request)
            let isDone = Gate()
            Task {
                await work()
                isDone.open()
            }
            isDone.blockUntilOpen()
            return answer
        }
    }

    private func pass(_ request: RecordedRequest) -> ScriptedReply {
        let answer = Mutex<OutboundResponse?>(nil)
        let arrived = Gate()
        Task {
            let reply = try? await http.send(outbound(request))
            answer.withLock { $0 = reply }
            arrived.open()
        }
        arrived.blockUntilOpen()
        guard let reply = answer.withLock({ $0 }) else { return .hangUp }
        let fields = ["Location", HeaderName.pushChannelMatch].compactMap { name in
            reply.headers[name].map { (name, $0) }
        }
        return .status(reply.status, headers: fields, body: reply.body)
    }

    private func outbound(_ request: RecordedRequest) -> OutboundRequest {
        OutboundRequest(
            method: request.method,
            url: "http://127.0.0.1:\(port)\(request.target)",
            headers: request.headers.filter { !["host", "content-length"].contains($0.name.lowercased()) },
            body: request.body.isEmpty ? nil : request.body,
            maximumRedirects: 0,
            addresses: .any
        )
    }
}
