import Dispatch
import HTTPTypes
import HubProtocol
import HubStore
import NIOCore
import SharedLog
import Testing

@testable import HubServer

/// Requests that come late to the node that they were passed on to.
struct RequestFenceTests {
    /// Runs two nodes, of which `a` writes, and `b` knows.
    private func run(_ body: (TwoNodes) async throws -> Void) async throws {
        try await TwoNodes.run { nodes in
            try await nodes.a.accept("first")
            try await nodes.hearHeartbeat()
            try await body(nodes)
        }
    }

    /// The last case is a virtual machine, whose clock stands still with it.
    @Test(arguments: [("b", 100.0), ("a", 100), ("b", 0)])
    func `a node that was paused does not undo newer changes`(newerAt: String, seconds: Double) async throws {
        try await run { (nodes: TwoNodes) async throws in
            let (a, b) = (nodes.a, nodes.b)
            let agent = Agent("phone", tags: ["Old"])
            nodes.channel.pause("a")
            nodes.channel.silence("a")
            await nodes.hearAll()
            async let late = b.put(agent)
            await nodes.channel.waitForRequest(to: "a")
            b.clock.advance(by: 2)
            nodes.channel.sweep()
            let (status, wait) = (try await late.status, try await late.headers["retry-after"])
            #expect(status == 503 && wait == "2", "at once, since the other node is silent")

            var newer = agent
            newer.tags = ["New"]
            a.clock.advance(by: seconds)
            #expect(try await (newerAt == "a" ? a : b).put(newer).status == 200)
            let reply = try #require(try await nodes.channel.resume("a").map { try ForwardedReply(encoded: $0) }.first)
            #expect(reply.head.status == .serviceUnavailable && reply.head.headerFields[.retryAfter] == "2")
            #expect(reply.refusal != nil)
            for node in [a, b] {
                let body = try await node.send("GET", "installations/phone", as: node.full).body
                #expect(body.contains("New") && !body.contains("Old"))
            }
        }
    }

    @Test func `a request that has waited too long at the other node is passed on again`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            let (a, b) = (nodes.a, nodes.b)
            let entries = try nodes.log.entries.count
            let gate = DispatchSemaphore(value: 0)
            let (stages, stage) = AsyncStream<Void>.makeStream()
            async let held: Void = a.hub.perform { _, _ in
                stage.yield()
                gate.wait()
                return ((), [])
            }
            for await _ in stages { break }
            async let reply = b.post(["title": "second"])
            // Each stage runs twice.
            defer { for _ in 0..<2 { gate.signal() } }
            try await a.wait { a.hub.writer.backlog.changes >= 1 }
            for _ in 0..<2 {
                a.clock.advance(by: 1.5)
                a.service.nodes?.forwarding.writers.look()
            }
            for _ in 0..<2 { gate.signal() }
            #expect(try await reply.status == 201)
            try await held
            #expect(nodes.channel.requests == ["a", "a"])
            #expect(try nodes.log.entries.dropFirst(entries).map(\.node) == ["a"])
        }
    }

    @Test func `a request is refused when its stage is repeated after a change of another node`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            let (a, b) = (nodes.a, nodes.b)
            let claim = try #require(a.service.nodes?.forwarding.writers.claim)
            let newest = UInt64(try nodes.log.entries.count)
            nodes.channel.silence("a")
            await nodes.hearAll()
            b.clock.advance(by: 2)
            #expect(try await b.post(["title": "newer"]).status == 201)
            #expect(a.hub.store.head.number == newest, "it does not know of that yet")
            let fence = ForwardedRequest.Fence(claim: claim, newestEntry: newest)
            let reply = try await nodes.pass(fence, to: "a")
            #expect(reply.head.status == .serviceUnavailable && reply.refusal?.claim == claim)
            let count = UInt64(try nodes.log.entries.count)
            #expect(reply.position == newest + 1 && count == newest + 1)
            // With what it knows now, the other node may pass the request on again.
            let again = try await nodes.pass(
                ForwardedRequest.Fence(claim: claim, newestEntry: reply.position),
                to: "a"
            )
            #expect(again.head.status == .created && again.refusal == nil)
        }
    }

    @Test func `a request with a claim that has ended, or of another process, is refused`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            let claim = try #require(nodes.a.service.nodes?.forwarding.writers.claim)
            let newest = UInt64(try nodes.log.entries.count)
            for other in [
                WriterClaim(since: claim.since + 1, process: claim.process, time: claim.time),
                WriterClaim(since: claim.since, process: claim.process &+ 1, time: claim.time),
                WriterClaim(since: claim.since, process: claim.process, time: claim.time + .seconds(1)),
            ] {
                let reply = try await nodes.pass(ForwardedRequest.Fence(claim: other, newestEntry: newest), to: "a")
                #expect(reply.head.status == .serviceUnavailable && reply.refusal?.claim == claim)
            }
            #expect(UInt64(try nodes.log.entries.count) == newest)
        }
    }

    @Test func `a request of an earlier version is executed while such a node is present, and not after a pause`()
        async throws
    {
        try await run { (nodes: TwoNodes) async throws in
            let (a, writers) = (nodes.a, try #require(nodes.a.service.nodes?.forwarding.writers))
            nodes.b.hub.others?.announcePresence()
            await nodes.channel.settle("a")
            #expect(a.hub.others?.isPresent("b") == true && a.hub.others?.hasUnfenced == false)
            let refused = try await nodes.pass(nil, to: "a")
            #expect(refused.head.status == .serviceUnavailable && refused.head.headerFields[.retryAfter] == "2")
            #expect(refused.refusal == nil, "an earlier version would not read it")
            nodes.announcePresence(of: "c")
            await nodes.channel.settle("a")
            #expect(try await nodes.pass(nil, to: "a").head.status == .created)

            a.clock.advance(by: 3)
            #expect(try await nodes.pass(nil, to: "a").head.status == .serviceUnavailable)
            // What was sent before the pause has arrived by then.
            var passed = Duration.zero
            while passed < ForwardedExecution.unfencedPatience {
                writers.look()
                #expect(try await nodes.pass(nil, to: "a").head.status == .serviceUnavailable)
                a.clock.advance(by: 1.5)
                passed += .milliseconds(1_500)
            }
            writers.look()
            #expect(try await nodes.pass(nil, to: "a").head.status == .created)
        }
    }

    @Test func `a node's own report is not one of another node`() async throws {
        try await run { (nodes: TwoNodes) async throws in
            for name in ["a", "c"] { nodes.announcePresence(of: name, from: "elsewhere") }
            await nodes.channel.settle("a")
            let report = try #require(nodes.a.hub.others?.report(cutOffSince: nil))
            #expect(report.peers.map(\.name).contains("c") && !report.peers.map(\.name).contains("a"))
        }
    }

    @Test func `a claim holds until it is not repeated for two seconds, or the node was paused`() {
        var claims = WriterClaims(node: "a", process: 7)
        #expect(claims.announced == nil)
        claims.look(at: .seconds(10), written: 3, canWrite: true)
        let claim = WriterClaim(since: 3, process: 7, time: .seconds(10))
        #expect(claims.announced == claim)
        #expect(claims.holds(claim, at: .milliseconds(11_999)) && !claims.holds(claim, at: .seconds(12)))
        #expect(!claims.holds(claim, at: .seconds(9)), "the clock began anew")
        claims.look(at: .seconds(11), written: nil, canWrite: true)
        #expect(claims.announced?.time == .seconds(11))
        claims.look(at: .seconds(11), written: nil, canWrite: false)
        #expect(claims.announced == nil && !claims.holds(claim, at: .seconds(11)))
        claims.look(at: .seconds(12), written: 5, canWrite: true)
        #expect(!claims.holds(claim, at: .seconds(11)), "it began again")
        #expect(claims.isAwake(for: .seconds(9), at: .seconds(13)) && !claims.isAwake(for: .zero, at: .seconds(14)))
        claims.look(at: .seconds(14), written: nil, canWrite: true)
        #expect(!claims.isAwake(for: .seconds(1), at: .milliseconds(14_999)))
        #expect(claims.isAwake(for: .seconds(1), at: .seconds(15)))
    }
}

extension TwoNodes {
    /// Passes a message on to a node, as another node does; as one of an earlier version does without a fence.
    fileprivate func pass(_ fence: ForwardedRequest.Fence?, to node: String) async throws -> ForwardedReply {
        let head = HTTPRequest(
            method: .post,
            scheme: nil,
            authority: "h",
            path: "/news/messages",
            headerFields: [.authorization: a.token(a.full), .contentLength: "2"]
        )
        let request = ForwardedRequest(head: head, peer: nil, body: ByteBuffer(string: "{}"), fence: fence)
        let answer = try await channel.node("c").request(request.encoded, of: node, timeout: .seconds(1)) { false }
        return try ForwardedReply(encoded: answer)
    }
}
