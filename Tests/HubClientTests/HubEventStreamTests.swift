import HubClient
import HubProtocol
import HubTestServer
import ServerSentEvents
import Testing

@Suite struct HubEventStreamTests {
    private let secret = PushChannelSecret.random()
    private let headers = [("Content-Type", "text/event-stream; charset=utf-8")]

    private func open(_ hub: ScriptedHub, after: String? = nil) async throws -> HubEventStream {
        try await hub.client.events(installation: InstallationID("a"), channel: secret, after: after)
    }

    @Test func `events arrive as they are sent, heartbeats too, comments not`() async throws {
        let script = ScriptedStream()
        let hub = try ScriptedHub { [headers] _ in .stream(headers: headers, script) }
        let stream = try await open(hub, after: "e1-41")
        let request = try #require(hub.server.requests.first)
        #expect(request.path == "/news/installations/a/stream")
        #expect(request.header("Last-Event-ID") == "e1-41")
        #expect(request.header("Newswire-Push-Channel") == secret.text)
        #expect(request.header("Accept") == "text/event-stream")
        #expect(stream.retry == nil)
        script.send("retry: 2000\n\n: hello\n\nid: e1-42\nda")
        script.send("ta: {}\n\nid: e1-50\n\n")
        #expect(try await stream.next() == ServerSentEvent(id: "e1-42", data: "{}"))
        #expect(stream.retry == .seconds(2))
        #expect(try await stream.next() == ServerSentEvent(id: "e1-50"))
        script.send("event: replaced\ndata: {}\n\n")
        #expect(try await stream.next() == ServerSentEvent(event: "replaced", data: "{}"))
        script.end()
        #expect(try await stream.next() == nil)
    }

    @Test func `a first connection sends no cursor`() async throws {
        let script = ScriptedStream()
        let hub = try ScriptedHub { [headers] _ in .stream(headers: headers, script) }
        _ = try await open(hub)
        #expect(hub.server.requests.first?.header("Last-Event-ID") == nil)
        // The stream was let go at once.
        await script.disconnected()
    }

    @Test func `a burst is read in order and whole`() async throws {
        let hub = try ScriptedHub { [headers] _ in
            .stream(headers: headers) { writer in
                for index in 0..<5_000 {
                    writer.write("id: e-\(index)\ndata: \(String(repeating: "x", count: 200))\n\n")
                }
            }
        }
        let stream = try await open(hub)
        var next = 0
        while let event = try await stream.next() {
            #expect(event.id == "e-\(next)")
            next += 1
        }
        #expect(next == 5_000)
    }

    @Test(arguments: [
        (401, "ExpiredToken: The token has expired.", 40106), (404, "Installation not found", 40400),
        (409, "SubCode=40900. Conflict.", 40900), (503, "starting", 50004),
    ])
    func `a refusal keeps its words`(_ status: Int, _ detail: String, _ code: Int) async throws {
        let hub = try ScriptedHub { _ in
            ScriptedHub.refusal(status, detail, headers: [("Retry-After", "3")])
        }
        await #expect(
            throws: HubError.refused(status: status, code: code, detail: detail, retryAfter: .seconds(3))
        ) { try await open(hub) }
    }

    @Test func `a refusal whose words break off is a refusal`() async throws {
        let hub = try ScriptedHub { _ in .status(404, body: "<Error>").cut(afterBytes: 2) }
        await #expect(
            throws: HubError.refused(status: 404, code: 404, detail: "no reason given", retryAfter: nil)
        ) { try await open(hub) }
    }

    @Test func `a page in place of the stream is a malformed reply`() async throws {
        let hub = try ScriptedHub { _ in .status(200, headers: [("Content-Type", "text/html")], body: "<html>") }
        await #expect(throws: HubError.malformedReply("the stream's content type is 'text/html'")) {
            try await open(hub)
        }
    }

    @Test func `a stream that breaks off gives what was complete and is then unreachable`() async throws {
        let script = ScriptedStream()
        let hub = try ScriptedHub { [headers] _ in .stream(headers: headers, script) }
        let stream = try await open(hub)
        script.send("id: 1\ndata: a\n\nid: 2\ndata: b\n")
        script.cut()
        #expect(try await stream.next()?.id == "1")
        let error = await #expect(throws: HubError.self) { try await stream.next() }
        guard case .unreachable = error else {
            Issue.record("was \(String(describing: error))")
            return
        }
    }

    @Test func `an event beyond any size ends the stream`() async throws {
        let hub = try ScriptedHub { [headers] _ in
            .stream(headers: headers) { writer in
                let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 65_536)
                writer.write("data: ")
                while writer.write(piece) {}
            }
        }
        let stream = try await open(hub)
        let error = await #expect(throws: HubError.self) { try await stream.next() }
        guard case .malformedReply = error else {
            Issue.record("was \(String(describing: error))")
            return
        }
        await hub.server.closedConnections(atLeast: 1)
    }

    @Test func `cancelling ends a waiting reader and the connection`() async throws {
        let script = ScriptedStream()
        let hub = try ScriptedHub { [headers] _ in .stream(headers: headers, script) }
        let stream = try await open(hub)
        let waiting = Task { try await stream.next() }
        stream.cancel()
        await #expect(throws: HubError.cancelled) { try await waiting.value }
        await script.disconnected()
    }
}
