import HubStore
import HubTestServer
import Synchronization
import Testing

@testable import ReplicatedLog

@Suite(.enabled(if: LogServers.program != nil, LogServers.reason))
struct NatsChannelTests {
    /// Runs `body` while a node answers requests.
    private func serving(
        _ node: ReplicatedLog,
        _ answer: @escaping @Sendable ([UInt8]) async -> [UInt8],
        _ body: () async throws -> Void
    ) async throws {
        let task = Task { await node.channel.serve(answer) }
        defer { task.cancel() }
        try await body()
        task.cancel()
        await task.value
    }

    /// Asks until the other node listens.
    private func ask(_ node: ReplicatedLog, _ request: [UInt8], of other: String) async throws -> [UInt8] {
        for _ in 0..<10_000 {
            do throws(NodeChannelError) {
                return try await node.channel.request(request, of: other, timeout: .seconds(10))
            } catch {
                guard error == .absent else { throw error }
            }
        }
        throw NodeChannelError.absent
    }

    @Test func `a node answers the requests of another, many at a time`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        let gate = Gate()
        try await serving(b) { request in
            if request == [0] { await gate.opened() }
            return request + [9]
        } _: { () async throws in
            #expect(try await ask(a, [1], of: "b") == [1, 9])
            async let held = a.channel.request([0], of: "b", timeout: .seconds(30))
            // A slow answer does not delay others.
            for number in 2...20 {
                #expect(try await ask(a, [UInt8(number)], of: "b") == [UInt8(number), 9])
            }
            gate.open()
            #expect(try await held == [0, 9])
            #expect(try await ask(a, [], of: "b") == [9])
        }
    }

    @Test func `a request has an answer, or the reason why there is none`() async throws {
        let servers = try await LogServers(settings: "max_payload: 64KB")
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        await #expect(throws: NodeChannelError.absent) {
            try await a.channel.request([1], of: "nobody", timeout: .seconds(10))
        }
        await #expect(throws: NodeChannelError.absent, "it is asked by itself") {
            try await a.channel.request([1], of: "a", timeout: .seconds(10))
        }
        let large = [UInt8](repeating: 0, count: 70_000)
        await #expect(throws: NodeChannelError.tooLarge) {
            try await a.channel.request(large, of: "b", timeout: .seconds(10))
        }
        let gate = Gate()
        try await serving(b) { request in
            if request == [0] { await gate.opened() }
            return request == [1] ? large : request
        } _: { () async throws in
            #expect(try await ask(a, [2], of: "b") == [2])
            await #expect(throws: NodeChannelError.tooLarge) {
                try await a.channel.request([1], of: "b", timeout: .seconds(10))
            }
            await #expect(throws: NodeChannelError.timeout) {
                try await a.channel.request([0], of: "b", timeout: .milliseconds(200))
            }
            let lost = Task { try await a.channel.request([0], of: "b", timeout: .seconds(60)) }
            #expect(try await ask(a, [3], of: "b") == [3])
            await servers.servers[0].end()
            await #expect(throws: NodeChannelError.disconnected) { try await lost.value }
            await #expect(throws: NodeChannelError.disconnected) {
                try await a.channel.request([4], of: "b", timeout: .seconds(60))
            }
            gate.open()
        }
    }

    @Test func `announcements reach all other nodes, also after a loss of the connection`() async throws {
        let servers = try await LogServers()
        let (a, b, c) = (try await servers.node("a"), try await servers.node("b"), try await servers.node("c"))
        var (own, one, other) = (
            a.channel.announcements().makeAsyncIterator(), b.channel.announcements().makeAsyncIterator(),
            c.channel.announcements().makeAsyncIterator()
        )
        // The servers know of the subscriptions when they have answered.
        for node in [a, b, c] { _ = try await node.end() }
        a.channel.announce([1])
        #expect(await one.next() == [1])
        #expect(await other.next() == [1])
        await servers.servers[0].end()
        try await servers.servers[0].start()
        for node in [a, b, c] { _ = try await node.end() }
        b.channel.announce([2])
        // Its own first announcement is not among them.
        #expect(await own.next() == [2])
        #expect(await other.next() == [2])
    }

    @Test func `a node is not started twice`() async throws {
        let servers = try await LogServers()
        let first = try await servers.node("a")
        let error = await #expect(throws: ReplicatedLogError.self) { try await servers.node("a") }
        #expect("\(try #require(error))".hasPrefix("cannot join the log as 'a': process "))
        let other = try await servers.node("b")
        await first.close()
        let again = try await servers.node("a")
        #expect(try await again.end() == 0)
        #expect(try await other.end() == 0)
    }
}
