import Foundation
import HubProtocol
import HubRouting
import HubTestServer
import Testing

@testable import HubStore
@testable import ReplicatedLog

/// Databases of several nodes that follow one log.
@Suite(.enabled(if: LogServers.program != nil, LogServers.reason))
struct SharedStoreTests {
    private struct Member {
        let node: ReplicatedLog
        let store: HubStore

        func send(_ body: String, to hub: HubKey) async throws {
            let record = try MessageRecord(id: .random(), tags: nil, body: Array("{\"n\":\"\(body)\"}".utf8))
            let results = try await store.commit([
                { @Sendable (transaction: Transaction) throws in
                    _ = try transaction.appendMessage(record, hub: hub, at: Timestamp(milliseconds: 0))
                }
            ])
            try results[0].get()
        }

        func bodies(_ hub: HubKey) async throws -> [String] {
            try await store.follow { _ in }
            return try await store.pendingMessages(hub: hub, ordinal: 0, after: 0, through: .end, limit: 1_000)
                .messages.map { String(decoding: $0.body, as: UTF8.self) }
        }
    }

    private let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    private func member(
        _ name: String,
        _ servers: LogServers,
        patience: Duration = .seconds(40)
    ) async throws -> Member {
        let node = try await servers.node(name) { $0.patience = patience }
        let store = try HubStore(path: folder.file("\(name).sqlite"), log: node.log)
        try await store.join()
        return Member(node: node, store: store)
    }

    private func hub(_ member: Member) async throws -> HubKey {
        let name = try HubName("news")
        let results = try await member.store.commit([
            { @Sendable (transaction: Transaction) throws in
                try transaction.insertHub(name, rules: [], at: Timestamp(milliseconds: 0)).id
            }
        ])
        return try results[0].get()
    }

    @Test func `messages of nodes that write at once are at both, once and in one order`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await member("a", servers), try await member("b", servers))
        let hub = try await hub(a)
        try await b.store.follow { _ in }
        try await withThrowingTaskGroup { group in
            for member in [a, b] {
                group.addTask {
                    let name = try #require(member.node.log.identity).node
                    for number in 0..<40 { try await member.send("\(name)\(number)", to: hub) }
                }
            }
            try await group.waitForAll()
        }
        let (one, other) = (try await a.bodies(hub), try await b.bodies(hub))
        #expect(one == other)
        #expect(one.count == 80)
        #expect(Set(one).count == 80)
    }

    @Test func `a message without an answer is there once when the log is back`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await member("a", servers, patience: .seconds(1)), try await member("b", servers))
        let hub = try await hub(a)
        servers.servers[0].pause()
        await #expect(throws: OrderedLogError.self) { try await a.send("1", to: hub) }
        servers.servers[0].send(SIGCONT)
        // The connection may be lost as well.
        for _ in 0..<60 where (try? await a.node.end()) == nil {}
        for number in 2...3 { try await a.send("\(number)", to: hub) }
        let bodies = try await a.bodies(hub)
        #expect(bodies.sorted() == ["{\"n\":\"1\"}", "{\"n\":\"2\"}", "{\"n\":\"3\"}"])
        #expect(try await b.bodies(hub) == bodies)
    }
}
