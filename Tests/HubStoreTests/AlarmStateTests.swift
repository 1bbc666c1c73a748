import HubProtocol
import HubRouting
import Testing

@testable import HubStore

struct AlarmStateTests {
    @Test func `the state of alarms is kept for each hub, and goes with it`() async throws {
        let scratch = try Scratch()
        var (store, hub) = try await scratch.store()
        let name = try HubName("other")
        let other = try await store.change { try $0.insertHub(name, rules: [], at: 1) }.id
        for (key, states) in [(hub, ["a", "b"]), (other, ["c"])] {
            for state in states { try await store.change { try $0.setAlarmState(state, hub: key) } }
        }
        try store.close()
        (store, hub) = try await scratch.store()
        let states = try await store.alarmStates()
        #expect(states == [hub: "b", other: "c"])
        try await store.change { try $0.deleteHub(id: other, at: 2) }
        while try await store.change({ try $0.purge(hub: other, limit: 10, at: 3) }) == false {}
        let left = try await store.alarmStates()
        #expect(left == [hub: "b"])
    }

    @Test func `tags are read on from a place, those of other hubs and of changes left out`() async throws {
        let (store, hub) = try await Scratch().store()
        let name = try HubName("other")
        let other = try await store.change { try $0.insertHub(name, rules: [], at: 1) }.id
        let first = try await store.append(hub, tags: "World")
        try await store.append(other, tags: "Sports")
        let agent = try Installation.agent("a")
        try await store.change { _ = try $0.insert(agent, channelDigest: [1], hub: hub, at: 1) }
        let second = try await store.append(hub)
        let third = try await store.append(hub, tags: "World || Sports")
        let all = try await store.tags(hub: hub, after: .start, limit: 10)
        #expect(all.map(\.sequence) == [first, second, third])
        #expect(all.map(\.tags) == ["World", nil, "World || Sports"])
        let page = try await store.tags(hub: hub, after: first, limit: 1)
        #expect(page.map(\.sequence) == [second])
    }
}
