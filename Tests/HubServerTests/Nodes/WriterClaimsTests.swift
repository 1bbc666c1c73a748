import Testing

@testable import HubServer

struct WriterClaimsTests {
    @Test func `the node that has written the newest entry claims to write, unless another does`() {
        var claims = WriterClaims(node: "a")
        claims.look(at: .zero, written: nil, canWrite: true)
        #expect(claims.own == nil && claims.otherWriter(at: .zero) == nil)
        claims.look(at: .zero, written: 7, canWrite: true)
        #expect(claims.own == 7)
        claims.look(at: .zero, written: nil, canWrite: true)
        #expect(claims.own == 7, "entries of other nodes do not end a claim")
        claims.look(at: .zero, written: 9, canWrite: false)
        #expect(claims.own == nil)
        claims.note("b", since: 8, at: .zero)
        claims.look(at: .zero, written: 9, canWrite: true)
        #expect(claims.own == nil && claims.otherWriter(at: .zero)?.node == "b")
    }

    @Test func `the older of two claims holds`() {
        var claims = WriterClaims(node: "a")
        claims.look(at: .zero, written: 7, canWrite: true)
        claims.note("b", since: 8, at: .zero)
        claims.look(at: .zero, written: 9, canWrite: true)
        #expect(claims.own == 7 && claims.otherWriter(at: .zero) == nil)
        claims.note("c", since: 6, at: .zero)
        #expect(claims.otherWriter(at: .zero)?.node == "c")
        claims.look(at: .zero, written: 9, canWrite: true)
        #expect(claims.own == nil)
    }

    @Test func `a claim ends when it is not repeated, or its node is gone`() {
        var claims = WriterClaims(node: "a")
        claims.note("a", since: 1, at: .zero)
        #expect(claims.otherWriter(at: .zero) == nil, "its own heartbeat")
        claims.note("b", since: 3, at: .zero)
        claims.note("c", since: 5, at: .seconds(1))
        #expect(claims.otherWriter(at: .milliseconds(1_999))?.node == "b")
        #expect(claims.otherWriter(at: .seconds(2))?.node == "c")
        claims.forget("c")
        #expect(claims.otherWriter(at: .seconds(2)) == nil)
    }

    @Test func `a node that was paused claims nothing before it has heard the others`() {
        var claims = WriterClaims(node: "a")
        claims.look(at: .zero, written: 7, canWrite: true)
        claims.look(at: .seconds(5), written: 7, canWrite: true)
        #expect(claims.own == nil)
        claims.note("b", since: 8, at: .seconds(5))
        claims.look(at: .milliseconds(5_100), written: 7, canWrite: true)
        #expect(claims.own == nil && claims.otherWriter(at: .milliseconds(5_100))?.node == "b")
    }

    @Test func `claims of many nodes take bounded memory`() {
        var claims = WriterClaims(node: "a")
        for number in 0..<1_000 { claims.note("n\(number)", since: UInt64(2_000 - number), at: .zero) }
        #expect(claims.otherWriter(at: .zero)?.node == "n63")
    }

    /// Each node writes on its own until it hears of a writer; looks, and heartbeats that take their time, come in any
    /// order.
    @Test(arguments: 0..<200)
    func `nodes that begin to write at once agree on one of them`(_ seed: UInt64) {
        var random = SeededGenerator(seed)
        let names = ["a", "b", "c"]
        var nodes = names.map { WriterClaims(node: $0) }
        var (head, writer) = (UInt64(1), 0)
        var heartbeats: [(from: Int, to: Int, since: UInt64)] = []
        for step in 0..<60 {
            let now = Duration.milliseconds(step * 10)
            // All are asked for a change at each step, and pass it on or write themselves.
            for index in nodes.indices.shuffled(using: &random) where nodes[index].otherWriter(at: now) == nil {
                (head, writer) = (head + 1, index)
            }
            let index = Int.random(in: 0..<3, using: &random)
            nodes[index].look(at: now, written: writer == index ? head : nil, canWrite: true)
            if let own = nodes[index].own {
                for other in 0..<3 where other != index { heartbeats.append((index, other, own)) }
            }
            while heartbeats.count > 6 || (!heartbeats.isEmpty && Bool.random(using: &random)) {
                let heartbeat = heartbeats.removeFirst()
                nodes[heartbeat.to].note(names[heartbeat.from], since: heartbeat.since, at: now)
            }
        }
        let end = Duration.milliseconds(600)
        let chosen = zip(names, nodes).map { name, claims in claims.otherWriter(at: end)?.node ?? name }
        #expect(Set(chosen).count == 1)
        #expect(nodes.count { $0.own != nil } == 1)
    }
}
