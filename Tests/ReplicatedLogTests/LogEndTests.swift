import Foundation
import HubProtocol
import HubStore
import Testing

@testable import ReplicatedLog

/// Logs that are left, started again, or kept by servers without a majority.
@Suite(.enabled(if: LogServers.program != nil, LogServers.reason))
struct LogEndTests {
    @Test func `a log that a node leaves takes no entry, stops its nodes, and lets nobody join`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        let place = try await a.grow(after: .beginning)
        try await b.end(at: 1)
        let error = ReplicatedLogError.closedLog(stream: "newswire_test", node: "b")
        #expect(error.isFinal && !error.isTemporary)
        #expect("\(error)".contains("closed by 'newswire hub log leave' on hub 'b'"))
        await #expect(throws: error) { try await a.append(.plain(after: place), after: place) }
        await #expect(throws: error) { try await a.end() }
        await #expect(throws: error) { try await servers.node("c") }
        // Versions that do not know closed logs take it for one of a later version, and stop too.
        let description = try await b.stream().config.description
        #expect(description?.hasPrefix("newswire log ") == true)
        #expect(description?.hasPrefix("newswire log 1, incarnation ") == false)
        // The name can be used again.
        _ = try await ReplicatedLog.beginAgain(servers.configuration("d"), logger: .quiet)
        #expect(try await servers.node("d").end() == 0)
    }

    @Test func `a log that has entries which the leaving node lacks stays open`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        let places = try await [a.grow(after: .beginning)]
        let last = try await a.grow(after: places[0])
        await #expect(throws: ReplicatedLogError.ahead(number: 2, position: 1)) { try await b.end(at: 1) }
        let next = try await a.grow(after: last)
        #expect(try await b.read(after: last).map(\.place) == [next])
        try await b.end(at: 3)
    }

    @Test func `a log that was started again names the node whose database it began with`() async throws {
        let servers = try await LogServers()
        #expect(try await servers.node("a").log.identity?.beginner == nil)
        let incarnation = try await ReplicatedLog.beginAgain(servers.configuration("b"), logger: .quiet)
        let identity = try await servers.node("c").log.identity
        #expect(identity == LogIdentity(node: "c", incarnation: incarnation, beginner: "b"))
    }

    @Test func `the leader's clock and the copies of the log are known`() async throws {
        let servers = try await LogServers(3)
        let node = try await servers.node { $0.patience = .seconds(40) }
        _ = try await node.grow(after: .beginning)
        _ = try await node.end()
        let leader = try await servers.leader(of: node)
        let report = node.log.serverReport
        #expect(report.clocks.keys.contains(leader.name))
        for time in report.clocks.values { #expect(abs(time.date.timeIntervalSinceNow) < 5) }
        #expect(report.replicas?.configured == 3)
        let other = try #require(servers.servers.first { $0.name != leader.name })
        await other.end()
        let patience = ContinuousClock.now + .seconds(60)
        while node.log.serverReport.replicas?.late != [other.name], .now < patience { _ = try? await node.end() }
        #expect(node.log.serverReport.replicas == HubOverview.Node.Replicas(configured: 3, late: [other.name]))
        #expect(node.log.serverReport.replicas?.missing == 1)
    }

    @Test func `a node whose server is cut off from the majority changes to another one within ten seconds`()
        async throws
    {
        let servers = try await LogServers(3)
        let writer = try await servers.node("writer") { $0.patience = .seconds(40) }
        let place = try await writer.grow(after: .beginning)
        let (isolated, healthy) = (servers.servers[0], servers.servers[1])
        try await servers.cutOff(isolated)
        // The others have a leader.
        let last = try await writer.grow(after: place)
        let configuration = try servers.configuration()
        let begin = ContinuousClock.now
        let node = try await servers.node("b") {
            $0.servers = Array(configuration.servers[..<2])
            $0.keepsOrder = true
            $0.patience = .seconds(40)
        }
        #expect(.now - begin > ServerSilence.patience, "it was connected to the server that is cut off")
        #expect(.now - begin < .seconds(10))
        #expect(try await node.end() == 2)
        #expect(node.log.stream.connection.server.hasSuffix(":\(healthy.port)"))
        #expect(try await node.grow(after: last).number == 3)
    }

    @Test func `it is time to change after seconds without an answer, and then again after as many`() {
        let silence = ServerSilence()
        #expect(!silence.isTooLong(since: .now))
        silence.end()
        #expect(silence.isTooLong(since: .now - ServerSilence.patience))
        #expect(!silence.isTooLong(since: .now - ServerSilence.patience), "the new server has its time")
        silence.end()
        #expect(!silence.isTooLong(since: .now))
    }
}
