import Foundation
import HubTestServer
import Testing

@testable import HubStore
@testable import ReplicatedLog

@Suite(.enabled(if: LogServers.program != nil, LogServers.reason), .serialized)
struct ClusterTests {
    @Test(arguments: [SIGKILL, SIGSTOP])
    func `the loss of the leader costs no entry and repeats none`(signal: Int32) async throws {
        let servers = try await LogServers(3)
        let node = try await servers.node { $0.patience = .seconds(40) }
        var places = [try await node.grow(after: .beginning)]
        let leader = try await servers.leader(of: node)
        leader.send(signal)
        for _ in 0..<20 { places.append(try await node.grow(after: try #require(places.last))) }
        leader.send(SIGCONT)
        let reader = try await servers.node("reader")
        #expect(try await reader.all().map(\.place) == places)
        let stream = try await node.stream()
        #expect(stream.cluster?.leader != leader.name)
        #expect(stream.config.replicas == 3)
    }

    @Test func `without a majority there is an error, and what was sent has one fate`() async throws {
        let servers = try await LogServers(3)
        // Longer than a leader counts for one after it has last heard of the others.
        let node = try await servers.node { $0.patience = .seconds(5) }
        let place = try await node.grow(after: .beginning)
        let leader = try await servers.leader(of: node)
        let others = servers.servers.filter { $0.name != leader.name }
        for server in others { await server.end() }
        let entry = LogEntry.plain(after: place)
        let error = await #expect(throws: ReplicatedLogError.self) { try await node.append(entry, after: place) }
        #expect(error?.isTemporary == true)
        // Its number may be out of date, and is not given out once the leader has noticed its loss: on a busy machine later.
        var refusal: (any Error)?
        let limit = ContinuousClock.now + WaitLimit.duration
        while refusal == nil, .now < limit {
            do { _ = try await node.end() } catch { refusal = error }
        }
        #expect(refusal is ReplicatedLogError)
        for server in others { try await server.start() }
        let patient = try await servers.node("b") { $0.patience = .seconds(40) }
        #expect(try await patient.append(entry, after: place) == .accepted(2))
        #expect(try await patient.all().map(\.place) == [place, LogPlace(number: 2, entry: entry.id)])
    }

    @Test func `writers that race while servers are lost have one chain`() async throws {
        let servers = try await LogServers(3)
        let observer = try await servers.node("observer") { $0.patience = .seconds(60) }
        let count = 150
        let accepted = try await withThrowingTaskGroup { group in
            for name in ["a", "b"] {
                group.addTask {
                    let node = try await servers.node(name) { $0.patience = .seconds(60) }
                    return try await node.race(count, as: name)
                }
            }
            for round in 1...2 {
                // A request after the other would keep the servers from their work.
                for await _ in observer.log.wakeUps().prefix(1_000) {
                    if try await observer.end() >= UInt64(round * 60) { break }
                }
                let leader = try await servers.leader(of: observer)
                await leader.end()
                try await leader.start()
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        let all = try await observer.all()
        #expect(all.count == count * 2)
        #expect(Set(all.map(\.entry.id)) == Set(accepted))
        #expect(all.dropFirst().map(\.entry.previous) == all.dropLast().map(\.entry.id))
    }

    @Test func `a server alone cannot keep replicas`() async throws {
        let servers = try await LogServers()
        let error = await #expect(throws: ReplicatedLogError.self) {
            try await servers.node { $0.replicas = 3 }
        }
        #expect("\(try #require(error))".contains("the server is not in a cluster"))
    }
}
