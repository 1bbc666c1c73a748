import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing

@testable import AppBackend

@Suite struct HubFailureLogTests {
    @Test func `the operator learns why the hub fails, once a minute for each kind of failure`() async throws {
        let server = try ScriptedHTTPServer { request in
            switch (request.method, request.path) {
            case (_, "/news/credentials"): .status(200, body: #"{"credentials":[]}"#)
            case ("POST", "/news/messages"), ("POST", "/news/messages/"): .status(503)
            default: .status(401)
            }
        }
        let string = try ConnectionString(endpoint: server.baseURL, keyName: "Full", key: "secret-key")
        let http = OutboundClient(userAgent: "newswire-test/1")
        let client = try HubClient(connection: string, hub: HubName("news"), http: http)
        let (clock, log, scratch) = (TestClock(), LogLines(), try ScratchFolder())
        try await TestBackend.run(client, store: scratch.file("b.sqlite"), logger: log.logger) {
            $0.clock = clock.backend
        } _: { backend in
            for _ in 0..<3 {
                let reply = try await backend.send("POST", "/api/register", as: "ann")
                #expect(reply.status == 502)
            }
            #expect(Self.warnings(log) == ["401"])
            let target = "/api/notifications?pns=stream&to_tag=ann"
            let reply = try await backend.send("POST", target, as: "ann", #""hello""#)
            #expect(reply.status == 503)
            #expect(Self.warnings(log) == ["401", "503"])
            clock.advance(by: .seconds(60))
            _ = try await backend.send("POST", "/api/register", as: "ann")
            #expect(Self.warnings(log) == ["401", "503", "401"])
            #expect(!log.all.contains { $0.contains("secret-key") })
        }
        await http.shutdown()
    }

    @Test func `a failure on one of several platforms is logged, whatever form the reply has`() async throws {
        let server = try ScriptedHTTPServer { request in
            let isApple = request.headers.contains { $0.value == "apple" }
            // Another hub, which does not say for which platforms it has credentials.
            return request.method == "GET" ? .status(404) : .status(isApple ? 201 : 503)
        }
        let string = try ConnectionString(endpoint: server.baseURL, keyName: "Full", key: "k")
        let http = OutboundClient(userAgent: "newswire-test/1")
        let client = try HubClient(connection: string, hub: HubName("news"), http: http)
        for fields in [[("Accept", "application/json")], []] {
            let (log, scratch) = (LogLines(), try ScratchFolder())
            try await TestBackend.run(client, store: scratch.file("b.sqlite"), logger: log.logger) { backend in
                let target = "/api/notifications?pns=all&to_tag=ann"
                let reply = try await backend.send("POST", target, as: "ann", headers: fields, #""hello""#)
                #expect(reply.status == 502 && reply.body.contains("fcmv1"), "\(reply.body)")
                #expect(Self.warnings(log) == ["503"])
            }
        }
        await http.shutdown()
    }

    /// The hub's statuses in warnings.
    private static func warnings(_ log: LogLines) -> [String] {
        log.all.filter { $0.hasPrefix("warning the hub failed ") }.map { line in
            ["401", "503"].first { line.contains("refused with \($0)") } ?? line
        }
    }
}
