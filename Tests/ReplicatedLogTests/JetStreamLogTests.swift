import Foundation
import Synchronization
import Testing

@testable import HubStore
@testable import ReplicatedLog

@Suite(.enabled(if: LogServers.program != nil, LogServers.reason))
struct JetStreamLogTests {
    @Test func `an empty log takes the first entry of one node only`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        #expect(try await a.end() == 0)
        #expect(try await a.read(after: .beginning) == [])
        let (first, second) = (LogEntry.plain("1", after: .beginning), LogEntry.plain("2", after: .beginning))
        #expect(try await a.append(first, after: .beginning) == .accepted(1))
        #expect(try await b.append(second, after: .beginning) == .behind(last: 1))
        #expect(try await b.read(after: .beginning) == [PlacedEntry(number: 1, entry: first)])
        #expect(try await b.end() == 1)
    }

    @Test func `nodes that start together have one log`() async throws {
        let servers = try await LogServers()
        let incarnations = try await withThrowingTaskGroup { group in
            for name in ["a", "b", "c", "d"] {
                group.addTask {
                    let node = try await servers.node(name)
                    let incarnation = node.log.identity?.incarnation
                    await node.close()
                    return incarnation
                }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        #expect(incarnations.count == 1)
    }

    @Test func `an entry that is sent again is stored once`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        let entry = LogEntry.plain(after: .beginning)
        for _ in 0..<3 { #expect(try await a.append(entry, after: .beginning) == .accepted(1)) }
        let next = try await b.grow(after: LogPlace(number: 1, entry: entry.id))
        #expect(next.number == 2)
        // Others follow it, and it still has its place.
        #expect(try await a.append(entry, after: .beginning) == .accepted(1))
        #expect(try await a.end() == 2)
    }

    @Test func `of writers that race each entry has one, and all have one chain`() async throws {
        let servers = try await LogServers()
        let count = 60
        let accepted = try await withThrowingTaskGroup { group in
            for name in ["a", "b", "c"] {
                group.addTask {
                    let node = try await servers.node(name)
                    return try await node.race(count, as: name)
                }
            }
            return try await group.reduce(into: Set()) { $0.formUnion($1) }
        }
        let all = try await servers.node("reader").all()
        #expect(all.map(\.number) == Array(1...UInt64(count * 3)))
        #expect(Set(all.map(\.entry.id)) == accepted)
        #expect(all.dropFirst().map(\.entry.previous) == all.dropLast().map(\.entry.id))
    }

    @Test func `a log is read in pages from any place`() async throws {
        let servers = try await LogServers()
        let node = try await servers.node()
        var places = [LogPlace.beginning]
        for number in 1...100 { places.append(try await node.grow(after: try #require(places.last), "\(number)")) }
        let reader = try await servers.node("reader")
        #expect(try await reader.all().map(\.place) == Array(places.dropFirst()))
        for start in [0, 1, 50, 99, 100] {
            let page = try await reader.read(after: places[start], limit: 7)
            #expect(page.map(\.place) == Array(places.dropFirst(start + 1).prefix(7)))
        }
    }

    @Test func `an answer that is lost costs no entry and repeats none`() async throws {
        let servers = try await LogServers()
        let node = try await servers.node { $0.patience = .seconds(1) }
        let place = try await node.grow(after: .beginning)
        let entry = LogEntry.plain(after: place)
        servers.servers[0].pause()
        let error = await #expect(throws: ReplicatedLogError.self) { try await node.append(entry, after: place) }
        servers.servers[0].send(SIGCONT)
        #expect(error?.isTemporary == true)
        #expect("\(try #require(error))".hasPrefix("the log has not answered for 1 s: "))
        let patient = try await servers.node("b")
        #expect(try await patient.append(entry, after: place) == .accepted(2))
        #expect(try await patient.all().map(\.entry.id) == [place.entry, entry.id])
    }

    @Test func `an entry that a lost server was asked for is asked for again`() async throws {
        let servers = try await LogServers()
        let node = try await servers.node { $0.patience = .seconds(40) }
        // Without direct access nobody answers such requests but the test.
        let name = node.log.stream.configuration.subjects.stream
        let stream = String(decoding: try JSONEncoder().encode(try await node.stream().config), as: UTF8.self)
        let indirect = stream.replacing("\"allow_direct\":true", with: "\"allow_direct\":false")
        #expect(try await node.engine("STREAM.UPDATE.\(name)", indirect).contains("\"allow_direct\":false"))
        let first = LogEntry.plain("1", after: .beginning)
        #expect(try await node.append(first, after: .beginning) == .accepted(1))
        let replica = try await servers.node("replica").log.stream.connection
        let asked = Mutex(0)
        let subscription = try replica.subscribe("$JS.API.DIRECT.GET.\(name)") { message in
            // The first request is lost.
            let count = asked.withLock { asked in
                asked += 1
                return asked
            }
            guard count > 1, let reply = message.reply else { return }
            try? replica.publish(EngineMessage(subject: reply, headers: [("Nats-Sequence", "1")], data: first.encoded))
        }
        let second = LogEntry.plain("2", after: .beginning)
        #expect(try await node.append(second, after: .beginning) == .behind(last: 1))
        #expect(asked.withLock { $0 } == 2)
        withExtendedLifetime(subscription) {}
    }

    @Test func `a server that is killed and started again has every entry, and nodes go on`() async throws {
        let servers = try await LogServers()
        let node = try await servers.node()
        var place = try await node.grow(after: .beginning)
        for _ in 0..<3 {
            await servers.servers[0].end()
            let (entry, last) = (LogEntry.plain(after: place), place)
            async let answer = node.append(entry, after: last)
            try await servers.servers[0].start()
            #expect(try await answer == .accepted(last.number + 1))
            place = LogPlace(number: last.number + 1, entry: entry.id)
        }
        #expect(try await node.end() == 4)
        #expect(try await node.all().count == 4)
    }

    @Test func `a server without room says so`() async throws {
        let servers = try await LogServers(jetStream: "max_file_store: 1MB")
        let full = await #expect(throws: ReplicatedLogError.self) { try await servers.node() }
        #expect("\(try #require(full))".contains("their storage is full, or the log has reached one of their limits"))
        #expect(full?.isTemporary == false)
        let node = try await servers.node("b") { $0.maximumBytes = -1 }
        let text = String(repeating: "x", count: 200_000)
        var place = LogPlace.beginning
        let error = await #expect(throws: ReplicatedLogError.self) {
            for _ in 0..<20 { place = try await node.grow(after: place, text) }
        }
        #expect("\(try #require(error))".contains("storage"), "\(String(describing: error))")
        #expect((1..<20).contains(place.number))
        #expect(try await node.end() == place.number)
    }

    @Test(.enabled(if: SmallDisk.isPossible, "only root can mount a small disk"), arguments: [false, true])
    func `a full disk at one of three servers stops nobody for good`(isLeader: Bool) async throws {
        let servers = try await LogServers(3, disk: try SmallDisk(megabytes: 8))
        func join(_ name: String) async throws -> ReplicatedLog {
            try await servers.node(name) {
                $0.maximumBytes = -1
                // On a busy machine the engine takes up to 29 s to have another leader.
                if isLeader { $0.patience = .seconds(90) }
            }
        }
        let node = try await join("a")
        try await servers.lead(node, with: isLeader ? "log0" : "log1")
        let text = String(repeating: "x", count: 500_000)
        var place = LogPlace.beginning
        for _ in 0..<24 { place = try await node.grow(after: place, text) }
        #expect(try await node.end() == 24)
        #expect(try await join("b").all().last?.place == place)
    }

    @Test func `an entry that is too large is refused, and the next one is not`() async throws {
        let servers = try await LogServers(settings: "max_payload: 64KB")
        let node = try await servers.node()
        let limit = node.log.stream.connection.maximumPayload - 512
        let overhead = LogEntry.plain(String(repeating: "x", count: 60_000), after: .beginning).encoded.count - 60_000
        let fitting = LogEntry.plain(String(repeating: "x", count: limit - overhead), after: .beginning)
        #expect(fitting.encoded.count == limit)
        #expect(try await node.append(fitting, after: .beginning) == .accepted(1))
        let place = LogPlace(number: 1, entry: fitting.id)
        let large = LogEntry.plain(String(repeating: "x", count: limit + 600), after: place)
        let error = await #expect(throws: OrderedLogError.self) { try await node.append(large, after: place) }
        #expect(error == .tooLarge(bytes: large.encoded.count, limit: limit))
        #expect(try await node.grow(after: place).number == 2)
    }

    @Test func `a connection that is closed for good ends the use of the log`() async throws {
        let servers = try await LogServers()
        let node = try await servers.node()
        let place = try await node.grow(after: .beginning)
        node.log.stream.connection.close()
        let error = await #expect(throws: ReplicatedLogError.closed) { try await node.end() }
        #expect(error?.isFinal == true)
        await #expect(throws: ReplicatedLogError.closed) { try await node.append(.plain(after: place), after: place) }
    }

    @Test func `a stream that newswire did not make is not a log`() async throws {
        let servers = try await LogServers()
        let other = try await servers.node("a") { $0.name = "other" }
        let made = try await other.engine(
            "STREAM.CREATE.newswire_test",
            #"{"name":"newswire_test","subjects":["x"],"retention":"limits","storage":"file","num_replicas":1}"#
        )
        #expect(!made.contains("error"), "\(made)")
        await #expect(throws: ReplicatedLogError.notALog(stream: "newswire_test")) { try await servers.node() }
    }

    @Test func `a log that was deleted or started anew stops its nodes`() async throws {
        let servers = try await LogServers()
        let node = try await servers.node()
        let place = try await node.grow(after: .beginning)
        #expect(try await node.engine("STREAM.DELETE.newswire_test").contains("\"success\":true"))
        for _ in 0..<2 {
            let error = await #expect(throws: ReplicatedLogError.self) { try await node.grow(after: place) }
            #expect(error == .removed(stream: "newswire_test"))
        }
        let other = try await servers.node("b")
        // As many entries as before: the number alone would not tell.
        _ = try await other.grow(after: .beginning)
        for _ in 0..<2 {
            let error = await #expect(throws: ReplicatedLogError.self) { try await node.grow(after: place) }
            #expect(error == .restarted(stream: "newswire_test"))
        }
        await #expect(throws: ReplicatedLogError.restarted(stream: "newswire_test")) { try await node.end() }
        #expect(try await other.end() == 1)
    }

    @Test func `a log that ends before a node's place is seen to`() async throws {
        let servers = try await LogServers()
        let node = try await servers.node()
        let place = try await node.grow(after: .beginning)
        let ahead = LogPlace(number: 5, entry: place.entry)
        #expect(try await node.append(.plain(after: ahead), after: ahead) == .behind(last: 1))
        #expect(try await node.read(after: ahead) == [])
        #expect(try await node.end() == 1)
    }

    @Test func `entries that the log does not keep any more are not skipped`() async throws {
        let servers = try await LogServers()
        let node = try await servers.node { $0.maximumBytes = 100_000 }
        var place = LogPlace.beginning
        for _ in 0..<20 { place = try await node.grow(after: place, String(repeating: "x", count: 10_000)) }
        let error = await #expect(throws: OrderedLogError.self) { try await node.read(after: .beginning) }
        #expect(error == .outOfRetention(number: 1))
        let late = await #expect(throws: OrderedLogError.self) {
            try await node.append(.plain(after: .beginning), after: .beginning)
        }
        #expect(late == .outOfRetention(number: 1))
        #expect(try await node.grow(after: place).number == 21)
    }

    @Test func `a node wakes up when another one has appended, and after a loss of the connection`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        var (own, others) = (a.log.wakeUps().makeAsyncIterator(), b.log.wakeUps().makeAsyncIterator())
        let place = try await a.grow(after: .beginning)
        #expect(await others.next() != nil)
        #expect(try await b.end() == 1, "it is stored when the node wakes up")
        _ = try await b.grow(after: place)
        #expect(await own.next() != nil)
        await servers.servers[0].end()
        try await servers.servers[0].start()
        #expect(await own.next() != nil)
        #expect(try await a.end() == 2)
    }

    @Test func `an announced entry is read without its server, and once`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        #expect(try await b.end() == 0)
        var wakeUps = b.log.wakeUps().makeAsyncIterator()
        let entry = LogEntry.plain("x", after: .beginning)
        #expect(try await a.append(entry, after: .beginning) == .accepted(1))
        #expect(await wakeUps.next() != nil)
        await servers.servers[0].end()
        #expect(try await b.read(after: .beginning) == [PlacedEntry(number: 1, entry: entry)])
        let place = LogPlace(number: 1, entry: entry.id)
        await #expect(throws: ReplicatedLogError.self) { try await b.read(after: place) }
        #expect(b.log.announcedEnd() == nil, "an announcement may have been lost")
    }
}
