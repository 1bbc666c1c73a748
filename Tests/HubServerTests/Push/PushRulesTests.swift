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
        var rejectionGuard = RejectionGuard()
        let isFirstBelieved = rejectionGuard.noteDoubtful()
        #expect(!isFirstBelieved, "nothing has worked yet")
        for _ in 0..<200 { rejectionGuard.noteSuccess() }
        let isBelieved = rejectionGuard.noteDoubtful()
        #expect(isBelieved)
        let believed = (0..<200).count { _ in rejectionGuard.noteDoubtful() }
        #expect(believed < 20)
        for _ in 0..<RejectionGuard.window { rejectionGuard.noteSuccess() }
        let isBelievedAgain = rejectionGuard.noteDoubtful()
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

    @Test(arguments: [(8, 30, 8), (40, 30, 28), (900, 3, 1)])
    func `the last attempt is made before the end of a message`(wait: Int, left: Int, seconds: Int) {
        let chosen = RetryWait.wait(.seconds(wait), asked: nil, within: .seconds(left), fraction: 0)
        #expect(chosen == .seconds(seconds))
    }

    @Test func `last attempts are spread, and none is made before the time that a service asked for`() {
        let spread = RetryWait.wait(.seconds(900), asked: nil, within: .seconds(102), fraction: 1)
        #expect(spread == .seconds(90))
        #expect(RetryWait.wait(.seconds(95), asked: .seconds(95), within: .seconds(102), fraction: 1) == .seconds(95))
        #expect(RetryWait.wait(.seconds(110), asked: .seconds(110), within: .seconds(102), fraction: 0) == nil)
        #expect(RetryWait.wait(.seconds(1), asked: nil, within: .seconds(2), fraction: 0) == nil)
    }

    /// Failures that pause a host.
    private func failing(_ host: String) -> HostFailures {
        var hostFailures = HostFailures()
        for _ in 0..<HostFailures.failuresInRow { hostFailures.noteFailure(host, at: start, fraction: 1) }
        return hostFailures
    }

    @Test func `a host that does nothing but fail is asked again every few seconds, and others are not held up`() {
        var hostFailures = failing("slow.example")
        var now = start
        for _ in 0..<1_000 {
            #expect(hostFailures.allowance("slow.example", at: now) == .nothing(until: now + .seconds(2)))
            now = now + .seconds(2)
            #expect(hostFailures.allowance("slow.example", at: now) == .oneProbe)
            hostFailures.beginProbe("slow.example", at: now)
            hostFailures.noteFailure("slow.example", at: now, fraction: 1)
        }
        #expect(hostFailures.allowance("other.example", at: now) == .everything)
        hostFailures.noteSuccess("slow.example", begunAt: now)
        #expect(hostFailures.allowance("slow.example", at: now) == .everything)
    }

    @Test func `the success of an earlier request does not end a pause that a host has asked for`() {
        var hostFailures = HostFailures()
        hostFailures.pause("a.example", for: .seconds(60), at: start)
        hostFailures.noteSuccess("a.example", begunAt: start - .seconds(1))
        #expect(hostFailures.allowance("a.example", at: start) == .nothing(until: start + .seconds(60)))
        #expect(hostFailures.allowance("a.example", at: start + .seconds(60)) == .everything)
    }

    @Test func `a client's many hosts are forgotten again`() {
        var hostFailures = HostFailures()
        var hostRefusals = HostRefusals()
        for number in 0..<5_000 {
            hostFailures.pause("h\(number).example", for: .seconds(60), at: start)
            for _ in 0..<HostRefusals.refusalsInRow { _ = hostRefusals.refuse("h\(number).example", "no", at: start) }
        }
        let hosts = (0..<5_000).map { "h\($0).example" }
        #expect(hosts.count { hostFailures.allowance($0, at: start) != .everything } == HostFailures.maximumHosts)
        #expect(hosts.count { hostRefusals.allowance($0, at: start) != .everything } == HostFailures.maximumHosts)
    }

    @Test func `a host that refuses the sender is paused after a few refusals in a row`() {
        var refusals = HostRefusals()
        let firsts = (0..<5).map { _ in refusals.refuse("a.example", "BadJwtToken", at: start) }
        #expect(firsts == [false, false, true, false, false])
        #expect(refusals.allowance("a.example", at: start) == .nothing(until: start + .seconds(60)))
        #expect(refusals.allowance("b.example", at: start) == .everything)
        #expect(refusals.accept("a.example") && refusals.allowance("a.example", at: start) == .everything)
        let few = (0..<4).map { _ in (refusals.refuse("a.example", "no", at: start), refusals.accept("a.example")) }
        #expect(few.allSatisfy { !$0.0 && !$0.1 }, "others are served in between")
    }
}
