import Foundation
import HTTPTypes
import HubProtocol
import HubRouting
import HubStore
import NIOCore
import NetworkAddresses
import SharedLog
import Synchronization
import Testing

@testable import HubServer

/// Requests that one node passes to the node that writes.
struct ForwardingTests {
    /// Runs two nodes, of which `a` writes, and `b` knows.
    private func run(
        configure: (inout HubConfiguration) throws -> Void = { _ in },
        _ body: (TwoNodes) async throws -> Void
    ) async throws {
        try await TwoNodes.run(configure: configure) { nodes in
            try await nodes.a.accept("first")
            try await nodes.hearHeartbeat()
            try await body(nodes)
        }
    }

    @Test func `a send at another node is executed once, by the node that writes`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            let (a, b) = (nodes.a, nodes.b)
            let entries = try nodes.log.entries.count
            let reply = try await b.post(["title": "second"], tags: "World", key: "k")
            #expect(reply.status == 201 && nodes.channel.requests == ["a"])
            let id = try reply.messageID
            #expect(reply.headers["location"] == "https://h/news/messages/\(id)")
            #expect(reply.headers["trackingid"] != nil)
            let written = try nodes.log.entries.dropFirst(entries)
            #expect(written.map(\.node) == ["a"])
            // The other node can be read at once.
            for node in [b, a] {
                let reports = try await node.newest()
                #expect(reports.first?.id == id && reports.count == 2)
            }
            let repeated = try await b.post(["title": "second"], tags: "World", key: "k")
            #expect(try repeated.messageID == id)
            #expect(a.hub.counters.repeated.load(ordering: .relaxed) == 1)
        }
    }

    @Test func `registrations, installations and hubs are changed where the node writes`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            let b = nodes.b
            let entries = try nodes.log.entries.count
            let agent = Agent("phone", tags: ["World"])
            #expect(try await b.put(agent).status == 200)
            let read = try await b.send("GET", "installations/phone", as: b.listen, channel: agent.secret)
            #expect(read.status == 200)
            #expect(try await b.send("DELETE", "installations/phone", as: b.full).status == 204)
            _ = try await b.make("other")
            #expect(try await b.manage("DELETE", "/other").status == 200)
            #expect(nodes.channel.requests.count == 4)
            let written = try nodes.log.entries.dropFirst(entries)
            #expect(Set(written.map(\.node)) == ["a"])
        }
    }

    @Test func `calls of this process are made through the log, and read at the other node at once`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            let (a, b) = (nodes.a.service.primaryLocalHub, nodes.b.service.primaryLocalHub)
            let (id, body) = (try InstallationID("phone"), Array(#"{"title":"second"}"#.utf8))
            try await b.put(try Agent("phone", tags: ["World"]).installation)
            #expect(try await a.installation(id)?.tags == [Tag("World")])
            let sent = try await b.send(body, tags: "World", idempotencyKey: "k")
            #expect(try await a.newestMessages(1).first?.id == sent)
            #expect(try await a.send(body, tags: "World", idempotencyKey: "k") == sent)
            #expect(try await a.delete(id))
            #expect(try await b.installation(id) == nil)
        }
    }

    @Test func `refusals of the node that writes are passed on`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            let b = nodes.b
            _ = try await b.post(["title": "x"], key: "k")
            let refused = try await b.post(["title": "y"], key: "k")
            #expect(refused.status == 422 && refused.body.contains("Idempotency-Key"))
            // Nobody else is asked about a request without a right.
            let asked = nodes.channel.requests.count
            #expect(try await b.send("POST", "messages", as: b.listen, "{}").status == 401)
            #expect(nodes.channel.requests.count == asked)
        }
    }

    @Test func `the node that writes counts the changes of each client's address`() async throws {
        try await run {
            $0.writeLimit.perSecond = 1
            $0.trustedProxies = [try #require(AddressBlock("127.0.0.0/8"))]
        } _: { (nodes: TwoNodes) async throws in
            func put(_ node: TestHub, from address: String) async throws -> Int {
                let body = #"{"installationId":"p","platform":"apns","pushChannel":"AA"}"#
                let headers = ["X-Forwarded-For": address]
                return try await node.send("PUT", "installations/p", as: node.listen, headers: headers, body).status
            }
            for _ in 0..<WriteLimit.burstSeconds {
                #expect(try await put(nodes.b, from: "192.0.2.1") == 200)
            }
            #expect(try await put(nodes.a, from: "192.0.2.1") == 429, "counted where it was executed")
            #expect(try await put(nodes.b, from: "192.0.2.1") == 429)
            #expect(try await put(nodes.b, from: "192.0.2.2") == 200)
        }
    }

    @Test func `if the node that writes is gone, another one writes`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            nodes.channel.silence("a")
            await nodes.hearAll()
            nodes.channel.fail(.lost(.absent))
            #expect(try await nodes.b.post(["title": "second"]).status == 201)
            #expect(try nodes.log.entries.last?.node == "b")
            #expect(nodes.b.service.nodes?.forwarding.writers.otherWriter == nil)
            #expect(try await nodes.b.newest().count == 2)
            let asked = nodes.channel.requests.count
            #expect(try await nodes.b.post(["title": "third"]).status == 201)
            #expect(nodes.channel.requests.count == asked, "it is known to be gone")
        }
    }

    @Test func `without a heartbeat for two seconds another node writes`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            nodes.channel.silence("a")
            await nodes.hearAll()
            nodes.b.clock.advance(by: 2)
            #expect(try await nodes.b.post(["title": "second"]).status == 201)
            #expect(nodes.channel.requests.isEmpty)
            #expect(try nodes.log.entries.last?.node == "b")
        }
    }

    @Test(arguments: [NodeChannelError.timeout, .disconnected], [true, false])
    func `a request without an answer is refused, and executed at most once`(
        error: NodeChannelError,
        isExecuted: Bool
    ) async throws {
        try await run { (nodes: TwoNodes) async throws in
            nodes.channel.fail(isExecuted ? .unanswered(error) : .lost(error))
            async let reply = nodes.b.post(["title": "second"])
            await nodes.channel.waitForRequests(1)
            // The claim in the request expires, after which the other node refuses it.
            nodes.b.clock.advance(by: 2)
            let (status, wait) = (try await reply.status, try await reply.headers["retry-after"])
            #expect(status == 503 && wait == "2")
            try await nodes.catchUp()
            for node in [nodes.a, nodes.b] { #expect(try await node.newest().count == (isExecuted ? 2 : 1)) }
            #expect(try nodes.log.entries.last?.node == "a")
        }
    }

    @Test(arguments: [true, false])
    func `a send with an idempotency key is repeated where it came, and executed once`(isExecuted: Bool) async throws {
        try await run { (nodes: TwoNodes) async throws in
            nodes.channel.fail(isExecuted ? .unanswered(.timeout) : .lost(.timeout))
            async let reply = nodes.b.post(["title": "second"], key: "k")
            await nodes.channel.waitForRequests(1)
            nodes.b.clock.advance(by: 2)
            let id = try await reply.messageID
            try await nodes.catchUp()
            for node in [nodes.a, nodes.b] {
                let reports = try await node.newest()
                #expect(reports.count == 2 && reports.first?.id == id)
            }
            #expect(try nodes.log.entries.last?.node == (isExecuted ? "a" : "b"))
        }
    }

    @Test func `large requests, jobs and questions stay where they are`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            let b = nodes.b
            let query = try await b.send("POST", "recipients", as: b.full, #"{"tags":""}"#)
            #expect(query.status == 200)
            #expect(try await b.manage("POST", "/news/jobs", TestHub.job("ExportRegistrations")).status == 201)
            #expect(nodes.channel.requests.isEmpty)
            let long = String(repeating: "x", count: RequestForwarding.maximumBody)
            let reply = try await b.send(
                "POST",
                "messages",
                as: b.full,
                headers: [HeaderName.format: "template"],
                #"{"title":"\#(long)"}"#
            )
            #expect(reply.status == 413 && nodes.channel.requests.isEmpty)
        }
    }

    @Test func `a hub with one node forwards nothing`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            #expect(hub.service.nodes?.forwarding == nil)
        }
    }

    // MARK: Coding

    @Test func `requests and replies are read as they were written, and refused when they are cut off`() throws {
        let head = HTTPRequest(
            method: .patch,
            scheme: "https",
            authority: "hub.example:8787",
            path: "/news/installations/a?x=%20",
            headerFields: [.contentType: "application/json", .ifMatch: "\"é\""]
        )
        let claim = WriterClaim(since: 300, process: .max, time: .milliseconds(1_234))
        for fence in [nil, ForwardedRequest.Fence(claim: claim, newestEntry: 301)] {
            let request = ForwardedRequest(
                head: head,
                peer: NetworkAddress("2001:db8::1"),
                body: ByteBuffer(bytes: [0, 255, 7]),
                fence: fence
            )
            let (bytes, isFenced) = (request.encoded, fence != nil)
            #expect(bytes.first == (isFenced ? NodeMessages.Kind.fencedRequest : NodeMessages.Kind.forwardedRequest))
            let read = try ForwardedRequest(encoded: bytes.dropFirst(), isFenced: isFenced)
            #expect(read.head == head && read.peer == request.peer && read.body == request.body)
            #expect(read.fence == fence)
            for count in 1..<bytes.count {
                #expect(throws: LogEntryError.self) {
                    try ForwardedRequest(encoded: bytes[1..<count], isFenced: isFenced)
                }
            }
        }
        for refusal in [nil, ForwardedReply.Refusal(claim: nil), ForwardedReply.Refusal(claim: claim)] {
            let reply = ForwardedReply(
                head: HTTPResponse(status: .created, headerFields: [.location: "https://h/x"]),
                body: ByteBuffer(string: "<x/>"),
                position: 300,
                refusal: refusal
            )
            let bytes = reply.encoded
            let answer = try ForwardedReply(encoded: bytes)
            #expect(answer.head == reply.head && answer.body == reply.body && answer.position == 300)
            #expect(answer.refusal == refusal)
            let end = ForwardedReply(head: reply.head, body: reply.body, position: 300).encoded.count
            for count in bytes.indices where count != end {
                #expect(throws: LogEntryError.self) { try ForwardedReply(encoded: Array(bytes.prefix(count))) }
            }
        }
    }

    @Test func `a node of an earlier version gets requests as it expects them`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            // The oldest claim is one of an earlier version, to which a request is passed on as that version expects it.
            nodes.announceHeartbeat(of: "c", since: 0)
            await nodes.hearAll()
            let writer = try #require(nodes.b.service.nodes?.forwarding.writers.otherWriter)
            #expect(writer.node == "c" && writer.claim == nil)
            nodes.channel.pause("c")
            async let reply = nodes.b.post(["title": "second"])
            await nodes.channel.waitForRequest(to: "c")
            #expect(nodes.channel.waitingRequests(for: "c").map(\.first) == [NodeMessages.Kind.forwardedRequest])
            nodes.b.clock.advance(by: 2)
            nodes.channel.sweep()
            #expect(try await reply.status == 503)
        }
    }
}

extension TwoNodes {
    /// Returns when everything that was announced before has reached `b`.
    func hearAll() async { await channel.settle("b") }

    /// `b` knows that `a` writes.
    func hearHeartbeat() async throws {
        for _ in 0..<WriterWatch.looksPerHeartbeat { a.service.nodes?.forwarding.writers.look() }
        await hearAll()
        try #require(b.service.nodes?.forwarding.writers.otherWriter?.node == "a")
    }

    /// Announces the claim of a node of an earlier version.
    func announceHeartbeat(of node: String, since: UInt64) {
        var bytes = EntryWriter()
        bytes.append(NodeMessages.Kind.heartbeat)
        bytes.append(number: since)
        bytes.append(text: node)
        channel.node(node).announce(bytes.bytes)
    }
}
