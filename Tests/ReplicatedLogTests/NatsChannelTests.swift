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

    @Test func `requests of a crowd have their own answers, and their own fates`() async throws {
        let servers = try await LogServers(settings: "max_payload: 64KB")
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        try await serving(b) { request in
            // Answers of several sizes, which together are more than a message may have.
            request.last == 7 ? [UInt8](repeating: 0, count: 70_000) : request + [UInt8](repeating: 9, count: 20_000)
        } _: { () async throws in
            _ = try await ask(a, [0], of: "b")
            let results = await withTaskGroup { group in
                for number in 0..<200 {
                    group.addTask { () -> (Int, Result<[UInt8], any Error>) in
                        let node = number % 50 == 3 ? "nobody" : "b"
                        // Some are larger than a message may be.
                        let size = number % 50 == 4 ? 70_000 : 300
                        let request =
                            [UInt8](repeating: 1, count: size) + [UInt8(number % 10), UInt8(number)]
                            + [UInt8(number % 20 == 7 ? 7 : 0)]
                        do {
                            let answer = try await a.channel.request(request, of: node, timeout: .seconds(30))
                            return (number, .success(Array(answer.prefix(request.count))))
                        } catch {
                            return (number, .failure(error))
                        }
                    }
                }
                return await group.reduce(into: [Int: Result<[UInt8], any Error>]()) { $0[$1.0] = $1.1 }
            }
            #expect(results.count == 200)
            for (number, result) in results {
                switch result {
                case .success(let answer): #expect(answer.dropLast().last == UInt8(number))
                case .failure(let error):
                    let expected: NodeChannelError = number % 50 == 3 ? .absent : .tooLarge
                    #expect(error as? NodeChannelError == expected)
                    #expect(number % 50 == 3 || number % 50 == 4 || number % 20 == 7)
                }
            }
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

    @Test func `a node hears neither its own announcements, over another connection, nor late ones`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        var heard = b.channel.announcements().makeAsyncIterator()
        _ = try await b.end()
        func publish(_ byte: UInt8, of node: String, sent: String?) throws {
            var headers: [(name: String, value: String)] = [(LogNotifications.origin, node)]
            if let sent { headers.append((NatsChannel.sentHeader, sent)) }
            let subject = a.log.stream.configuration.subjects.all
            try a.log.stream.connection.publish(EngineMessage(subject: subject, headers: headers, data: [byte]))
        }
        try publish(1, of: "b", sent: nil)
        try publish(2, of: "c", sent: "7 100000")
        try publish(3, of: "c", sent: "7 1")
        try publish(4, of: "c", sent: "7 100001")
        try publish(5, of: "c", sent: nil)
        for byte in [UInt8(2), 4, 5] { #expect(await heard.next() == [byte]) }
    }

    @Test func `requests of more than a thousand at a time are refused at once`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        let gate = Gate()
        try await serving(b) { request in
            if request == [0] { await gate.opened() }
            return request
        } _: { () async throws in
            _ = try await ask(a, [1], of: "b")
            var (answered, refused) = (0, 0)
            try await withThrowingTaskGroup { group in
                for _ in 0..<1_100 {
                    group.addTask { try await a.channel.request([0], of: "b", timeout: .seconds(60)) }
                }
                for try await answer in group {
                    if answer == [] { refused += 1 } else { answered += 1 }
                    if refused == 100 { gate.open() }
                }
            }
            #expect(answered == 1_000 && refused == 100)
        }
    }

    @Test func `no request is left without an answer when a node stops`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        let task = Task { await b.channel.serve { $0 } }
        _ = try await ask(a, [1], of: "b")
        let failures = await withTaskGroup { group in
            for number in 0..<3_000 {
                group.addTask { () -> NodeChannelError? in
                    if number == 300 { task.cancel() }
                    do throws(NodeChannelError) {
                        _ = try await a.channel.request([0], of: "b", timeout: .seconds(30))
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: Set<NodeChannelError>()) { if let error = $1 { $0.insert(error) } }
        }
        await task.value
        #expect(failures.isSubset(of: [.absent]))
        await #expect(throws: NodeChannelError.absent) {
            try await a.channel.request([1], of: "b", timeout: .seconds(10))
        }
    }

    @Test func `a request ends when it has become hopeless`() async throws {
        let servers = try await LogServers()
        let (a, b) = (try await servers.node("a"), try await servers.node("b"))
        let gate = Gate()
        try await serving(b) { request in
            if request == [0] { await gate.opened() }
            return request
        } _: { () async throws in
            _ = try await ask(a, [1], of: "b")
            await #expect(throws: NodeChannelError.timeout) {
                try await a.channel.request([0], of: "b", timeout: .seconds(60)) { true }
            }
            gate.open()
        }
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
