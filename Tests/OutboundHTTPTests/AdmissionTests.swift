import Testing

@testable import OutboundHTTP

@Suite struct AdmissionTests {
    private func drain(_ admission: Admission<String>) -> [String] {
        var items: [String] = []
        while let item = admission.next() { items.append(item) }
        return items
    }

    @Test func `an origin at its limit does not hold up another`() {
        let admission = Admission<String>(maximumConnections: 10, maximumConnectionsPerOrigin: 2)
        for index in 1...4 { admission.enqueue("a\(index)", origin: "a") }
        admission.enqueue("b1", origin: "b")
        #expect(drain(admission).sorted() == ["a1", "a2", "b1"])
        admission.finish(origin: "a", isMultiplexed: false)
        #expect(drain(admission) == ["a3"])
    }

    @Test func `origins take turns when connections are short`() {
        let admission = Admission<String>(maximumConnections: 2, maximumConnectionsPerOrigin: 2)
        for name in ["a1", "a2", "a3"] { admission.enqueue(name, origin: "a") }
        for name in ["b1", "b2"] { admission.enqueue(name, origin: "b") }
        #expect(drain(admission) == ["a1", "b1"])
        admission.finish(origin: "a", isMultiplexed: false)
        #expect(drain(admission) == ["a2"])
        admission.finish(origin: "a", isMultiplexed: false)
        #expect(drain(admission) == ["b2"])
    }

    @Test func `an origin that multiplexes counts as one connection and takes many requests`() {
        let admission = Admission<String>(maximumConnections: 2, maximumConnectionsPerOrigin: 1)
        for index in 0..<150 { admission.enqueue("a\(index)", origin: "a") }
        #expect(drain(admission).count == 1)
        admission.finish(origin: "a", isMultiplexed: true)
        #expect(drain(admission).count == 100)
        admission.enqueue("b", origin: "b")
        #expect(drain(admission) == ["b"])
    }

    @Test func `everything starts in the end, in order within its origin`() {
        let admission = Admission<String>(maximumConnections: 3, maximumConnectionsPerOrigin: 2)
        for index in 0..<500 { admission.enqueue("\(index)", origin: "o\(index % 7)") }
        var started: [String: [Int]] = [:]
        var running: [String] = []
        var total = 0
        repeat {
            while let item = admission.next(), let number = Int(item) {
                let origin = "o\(number % 7)"
                started[origin, default: []].append(number)
                running.append(origin)
                total += 1
            }
            #expect(running.count <= 3)
            admission.finish(origin: running.removeFirst(), isMultiplexed: nil)
        } while !running.isEmpty || total < 500
        #expect(total == 500)
        #expect(started.values.allSatisfy { $0 == $0.sorted() })
    }
}
