import HubProtocol
import Testing

@testable import HubServer

/// When a credential is used, a handle is believed dead, and a target is tried again.
struct PushRulesTests {
    private let start = Timestamp(milliseconds: 1_900_000_000_000)

    @Test func `a credential that many streams say is refused opens its circuit once`() {
        var circuit = CredentialCircuit()
        #expect(circuit.allowance(at: start) == .everything)
        let firsts = (0..<100).map { _ in circuit.refuse("InvalidProviderToken", at: start) }
        #expect(firsts == [true] + Array(repeating: false, count: 99))
        #expect(circuit.allowance(at: start + .seconds(59)) == .nothing(until: start + .seconds(60)))
        #expect(circuit.allowance(at: start + .seconds(60)) == .oneProbe)
    }

    @Test func `probes go out one at a time, after 1 to 15 minutes`() {
        var circuit = CredentialCircuit()
        _ = circuit.refuse("no", at: start)
        var now = start
        var waits: [Int64] = []
        for _ in 0..<7 {
            guard case .nothing(let until) = circuit.allowance(at: now) else { return #expect(Bool(false)) }
            waits.append((until - now).milliseconds / 60_000)
            now = until
            #expect(circuit.allowance(at: now) == .oneProbe)
            circuit.beginProbe()
            #expect(circuit.allowance(at: now) != .oneProbe, "one is under way")
            _ = circuit.refuse("no", at: now)
        }
        #expect(waits == [1, 2, 4, 8, 15, 15, 15])
        #expect(circuit.accept() && circuit.allowance(at: now) == .everything && !circuit.accept())
    }

    @Test func `a probe without an answer is made again`() {
        var circuit = CredentialCircuit()
        _ = circuit.refuse("no", at: start)
        circuit.beginProbe()
        circuit.endProbe(at: start + .seconds(60))
        #expect(circuit.allowance(at: start + .seconds(120)) == .oneProbe)
    }

    @Test func `a doubtful answer is believed after a success, while such answers are few`() {
        var doubts = HandleDoubts()
        let isFirstBelieved = doubts.noteDoubtful()
        #expect(!isFirstBelieved, "nothing has worked yet")
        for _ in 0..<200 { doubts.noteSuccess() }
        let isBelieved = doubts.noteDoubtful()
        #expect(isBelieved)
        let believed = (0..<200).count { _ in doubts.noteDoubtful() }
        #expect(believed < 20)
        for _ in 0..<HandleDoubts.window { doubts.noteSuccess() }
        let isBelievedAgain = doubts.noteDoubtful()
        #expect(isBelievedAgain, "the many are forgotten")
    }

    @Test(arguments: [(1, 1_000), (2, 2_000), (5, 16_000), (11, 900_000), (1_000_000, 900_000)])
    func `waits double up to a quarter of an hour`(attempts: Int, milliseconds: Int64) {
        #expect(RetryWait.wait(after: attempts, asked: nil, fraction: 1) == .milliseconds(milliseconds))
        #expect(RetryWait.wait(after: attempts, asked: nil, fraction: 0) == .zero)
    }

    @Test func `a service may ask for longer, up to an hour`() {
        #expect(RetryWait.wait(after: 1, asked: .seconds(120), fraction: 1) == .seconds(120))
        #expect(RetryWait.wait(after: 1, asked: .seconds(1 << 40), fraction: 1) == .seconds(3_600))
        #expect(RetryWait.wait(after: 1, asked: .seconds(-5), fraction: 0) == .zero)
    }

    @Test func `a host that does nothing but fail is left alone, and only that one`() {
        var hostFailures = HostFailures()
        let waits = (0..<HostFailures.failuresInRow).map { _ in
            hostFailures.noteFailure("slow.example", begunAt: start, at: start, fraction: 1)
        }
        #expect(waits.compactMap { $0 } == [.seconds(1)], "the last of them pauses it")
        #expect(hostFailures.pausedUntil("slow.example", at: start) == start + .seconds(1))
        #expect(hostFailures.pausedUntil("other.example", at: start) == nil)
        #expect(hostFailures.pausedUntil("slow.example", at: start + .seconds(1)) == nil)
    }

    @Test func `what was in flight when a pause began says nothing new`() {
        var hostFailures = HostFailures()
        for _ in 0..<2_000 { _ = hostFailures.noteFailure("", begunAt: start, at: start + .seconds(1), fraction: 1) }
        #expect(hostFailures.pausedUntil("", at: start + .seconds(1)) == start + .seconds(2), "one pause, not thirty")
        hostFailures.noteSuccess("")
        #expect(hostFailures.pausedUntil("", at: start + .seconds(1)) == nil)
    }

    @Test func `a stranger's many hosts are forgotten again`() {
        var hostFailures = HostFailures()
        for number in 0..<5_000 { hostFailures.pause("h\(number).example", for: .seconds(60), at: start) }
        let known = (0..<5_000).count { hostFailures.pausedUntil("h\($0).example", at: start) != nil }
        #expect(known == HostFailures.maximumHosts)
    }
}
