import GRDB
import HubProtocol
import HubRouting
import SharedLog
import Testing

@testable import HubServer
@testable import HubStore

/// What happened at a hub over time.
struct FigureTests {
    private func figures(_ hub: TestHub, _ span: HubFigures.Span) async throws -> [HubFigures] {
        try await hub.hub.store.figures(hub: hub.hub.record.id, span, since: .distantPast).map(\.figures)
    }

    @Test func `what cannot be written is written later, and a record that cannot be read stops nothing`() async throws
    {
        try await TestHub.run(try Scratch()) { hub in
            let (keeper, pool) = (hub.service.figures, hub.hub.store.pool)
            try await hub.accept("a", tags: "World")
            try await pool.writeWithoutTransaction { try $0.execute(sql: "ALTER TABLE figure RENAME TO away") }
            await keeper.record()
            try await pool.writeWithoutTransaction { try $0.execute(sql: "ALTER TABLE away RENAME TO figure") }
            try await hub.accept("b", tags: "World")
            await keeper.record()
            #expect(try await figures(hub, .minute).map(\.accepted) == [2])
            try await pool.writeWithoutTransaction { try $0.execute(sql: "UPDATE figure SET record = '{'") }
            #expect(try await figures(hub, .hour).isEmpty)
            try await hub.accept("c", tags: "World")
            await keeper.record()
            #expect(try await figures(hub, .hour).map(\.accepted) == [1])
            // A later version has more figures, and an earlier one fewer.
            try await pool.writeWithoutTransaction {
                try $0.execute(sql: #"UPDATE figure SET record = '{"accepted":7,"later":[1]}'"#)
            }
            #expect(try await figures(hub, .hour).map(\.accepted) == [7])
        }
    }

    @Test func `the times of deliveries are kept over a failed write, and reported with the message`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let (keeper, pool) = (hub.service.figures, hub.hub.store.pool)
            let agent = Agent("phone", tags: ["World"])
            try await hub.register(agent)
            let reader = try await hub.stream(agent)
            let id = try await hub.accept("a", tags: "World")
            _ = try await reader.message()
            func times() async throws -> MessageReport.Times? {
                let lookup = DeliveryLookup(hub: hub.hub, loops: hub.service.directory.loops(of: hub.hub))
                return try await lookup.report(id, device: nil).times?["stream"]
            }
            let before = try #require(try await times())
            #expect(before.first >= 0 && before.last ?? 0 >= before.first && before.last ?? 99 < 60)
            try await pool.writeWithoutTransaction { try $0.execute(sql: "ALTER TABLE streamTime RENAME TO away") }
            await keeper.record()
            #expect(try await figures(hub, .minute).isEmpty)
            try await pool.writeWithoutTransaction { try $0.execute(sql: "ALTER TABLE away RENAME TO streamTime") }
            await keeper.record()
            #expect(try await figures(hub, .minute).map { $0.times["stream"]?.count } == [1])
            #expect(try await figures(hub, .hour).map { $0.times["stream"]?.count } == [1])
            #expect(hub.hub.counters.times.take().all.isEmpty)
            #expect(try await times() == before, "from the store")
        }
    }

    @Test func `a minute has what happened in it, hours add minutes up, and a quiet minute has no record`() async throws
    {
        let (scratch, clock, time) = (try Scratch(), TestClock(), TestTime())
        try await TestHub.run(scratch, clock: clock) { hub in
            let keeper = hub.service.figures
            for title in ["a", "b"] { try await hub.accept(title, tags: "World") }
            await keeper.record()
            #expect(try await figures(hub, .minute).map(\.accepted) == [2])
            await keeper.record()
            try await hub.register(Agent("phone", tags: ["World"]))
            try await hub.accept("c", tags: "World")
            await keeper.record()
            #expect(try await figures(hub, .minute).map(\.accepted) == [3], "the same minute")
            try await hub.pass(120, of: time)
            await keeper.record()
            #expect(try await figures(hub, .minute).count == 1, "nothing happened")
            try await hub.accept("d", tags: "World")
            await keeper.record()
            let minutes = try await figures(hub, .minute)
            #expect(minutes.allSatisfy { $0.logBytes > 0 && $0.freeBytes > 0 })
            #expect(minutes.map(\.accepted) == [3, 1])
            #expect(minutes.map(\.registrations) == [["stream": 2], ["stream": 2]])
            #expect(try await figures(hub, .hour).map(\.accepted) == [4])
            try await hub.pass(4 * 86_400, of: time)
            try await hub.accept("e", tags: "World")
            await keeper.record()
            #expect(try await figures(hub, .minute).map(\.accepted) == [1], "minutes are kept for three days")
            #expect(try await figures(hub, .hour).map(\.accepted) == [4, 1])
        }
        // Counters begin anew at a start, and stored figures stay.
        try await TestHub.run(scratch, clock: clock) { hub in
            await hub.service.figures.record()
            let hours = try await figures(hub, .hour)
            #expect(hours.map(\.accepted).reduce(0, +) == 5)
        }
    }

    @Test func `nodes add up, and one that does not answer is named`() async throws {
        try await TwoNodes.run { nodes in
            let (a, b) = (nodes.a, nodes.b)
            let (here, there) = (Agent("here", tags: ["World"]), Agent("there", tags: ["World"]))
            for agent in [here, there] { try await a.register(agent) }
            try await nodes.catchUp()
            let readers = [try await a.stream(here), try await b.stream(there)]
            let id = try await a.accept("x", tags: "World")
            try await nodes.catchUp()
            for reader in readers { _ = try await reader.message() }
            for node in [a, b] { await node.service.figures.record() }
            let hub = try #require(a.service.localHub(a.hub.record.name))
            func figures() async throws -> [NodeFigures] { try await hub.figures(.hour, since: .distantPast) }
            #expect(try await figures().map(\.node) == ["a"], "the other one has not reported yet")
            b.service.served.others?.announcePresence()
            await nodes.channel.settle("a")
            let both = try await figures()
            #expect(both.map(\.node) == ["a", "b"])
            let each = try both.map { try #require($0.records?.first).figures }
            #expect(each.map(\.accepted) == [1, 0] && each.map(\.written) == [1, 1] && each.map(\.streams) == [1, 1])
            let sum = each[0].beside(each[1])
            #expect(sum.accepted == 1 && sum.written == 2 && sum.streams == 2 && sum.times["stream"]?.count == 2)
            #expect(sum.registrations == each[0].registrations, "all nodes have all of them")
            // The times of the message are those of all streams.
            let sequence = a.hub.status.head
            let own = try #require(try await a.hub.streamTimes(of: sequence))
            let foreign = try #require(try await b.hub.streamTimes(of: sequence))
            let all = StreamTimes(first: min(own.first, foreign.first), last: max(own.last, foreign.last))
            #expect(try await a.hub.streamTimesOfAllNodes(sequence) == all)
            #expect(try await hub.report(on: id, device: nil).times?["stream"]?.last != nil)
            // Neither an answer that is lost, nor one of an earlier version, is an hour without messages.
            nodes.channel.fail(.lost(.timeout))
            #expect(try await figures().map { $0.records == nil } == [false, true])
            nodes.announcePresence(of: "old")
            await nodes.channel.settle("a")
            #expect(try await figures().map { $0.records == nil } == [false, false, true])
            b.service.served.others?.announcePresence(isLeaving: true)
            await nodes.channel.settle("a")
            let asked = nodes.channel.requests.count
            #expect(try await figures().map { $0.records == nil } == [false, true, true])
            #expect(nodes.channel.requests.count == asked + 1, "one that has stopped is not asked")
        }
    }
}
