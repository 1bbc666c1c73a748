import HubProtocol
import HubRouting
import Testing

@testable import HubStore

struct ScanTests {
    private func scan(
        _ store: HubStore,
        _ hub: HubKey,
        after: LogSequence = .start,
        through: LogSequence = .end,
        limit: Int = 100,
        where isChosen: @Sendable (String?) -> Bool = { $0 == "World" }
    ) async throws -> MessageScan {
        try await store.scanMessages(hub: hub, after: after, through: through, limit: limit, where: isChosen)
    }

    @Test func `messages are chosen by their tags, newest first`() async throws {
        let (store, hub) = try await Scratch().store()
        for (number, tags) in ["World", nil, "Sports", "World", "World || Sports"].enumerated() {
            try await store.append(
                hub,
                #"{"title":"\#(number)"}"#,
                tags: tags,
                at: Timestamp(milliseconds: Int64(number))
            )
        }
        let scan = try await scan(store, hub)
        #expect(scan.messages.map(\.logged.sequence) == [4, 1])
        #expect(scan.messages.map(\.at) == [3, 0])
        #expect(scan.messages.first.map { String(decoding: $0.logged.body, as: UTF8.self) } == #"{"title":"3"}"#)
        #expect(scan.count == 5 && scan.lowest == 1)
        let broadcasts = try await self.scan(store, hub) { $0 == nil }
        #expect(broadcasts.messages.map(\.logged.sequence) == [2])
    }

    @Test func `a run is looked at from its end, as far as the limit`() async throws {
        let (store, hub) = try await Scratch().store()
        for _ in 1...10 { try await store.append(hub, tags: "World") }
        let end = try await scan(store, hub, after: 2, through: 8, limit: 4)
        #expect(end.messages.map(\.logged.sequence) == [8, 7, 6, 5])
        #expect(end.count == 4 && end.lowest == 5)
        let rest = try await scan(store, hub, after: 2, through: 4, limit: 4)
        #expect(rest.messages.map(\.logged.sequence) == [4, 3] && rest.count == 2)
        let none = try await scan(store, hub, after: 10)
        #expect(none.messages.isEmpty && none.count == 0 && none.lowest == nil)
    }

    @Test func `messages of other hubs and registry changes are passed over`() async throws {
        let (store, hub) = try await Scratch().store()
        try await store.append(hub, tags: "World")
        let other = try await store.change {
            try $0.insertHub(HubName("other"), rules: [AccessRule.generated(name: "Listen", rights: .listen)], at: 0)
        }
        try await store.append(other.id, tags: "World")
        try await store.change { _ = try $0.insert(.agent("a"), channelDigest: [1], hub: hub, at: 0) }
        let scan = try await scan(store, hub)
        #expect(scan.messages.map(\.logged.sequence) == [1] && scan.count == 1)
    }
}
