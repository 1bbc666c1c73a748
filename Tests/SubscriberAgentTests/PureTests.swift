import HostSystem
import HubClient
import HubProtocol
import Testing

@testable import SubscriberAgent

@Suite struct CategoryChoiceTests {
    static let known = ["World", "Politics", "Business", "Technology", "Science", "Sports"]

    @Test(arguments: [
        ("World,Sports", ["World", "Sports"]),
        (" World , Sports ,", ["World", "Sports"]),
        ("Sports,World,sports", ["Sports", "World"]),
        ("", []),
        (" , ", []),
    ])
    func `typed categories are split, trimmed and each kept once`(typed: String, expected: [String]) throws {
        #expect(try CategoryChoice(typed: typed).categories == expected)
    }

    @Test(arguments: ["Local news", "a&&b", "username:bob", "FROM:bob", "$InstallationId:{x}"])
    func `a text that is not a category is a usage error`(typed: String) throws {
        let error = #expect(throws: AgentError.self) { try CategoryChoice(typed: typed) }
        #expect(error?.exit == .usage)
        #expect(error?.description.contains(typed) == true)
    }

    @Test func `the hub's spelling is taken over`() throws {
        let checked = try CategoryChoice(typed: "sports,WORLD").checked(against: Self.known)
        #expect(checked.categories == ["Sports", "World"])
    }

    @Test(arguments: [("Wrold", "World"), ("sport", "Sports"), ("Tecnology", "Technology")])
    func `an unknown category names the nearest and lists all`(typed: String, nearest: String) throws {
        let choice = try CategoryChoice(typed: typed)
        let error = #expect(throws: AgentError.self) { try choice.checked(against: Self.known) }
        #expect(error?.exit == .usage)
        #expect(error?.description == "unknown category '\(typed)', did you mean '\(nearest)'?")
        #expect(error?.hint == .unknownCategory(known: Self.known))
    }

    @Test func `nothing near is named when nothing is near`() throws {
        let choice = try CategoryChoice(typed: "Gardening")
        let error = #expect(throws: AgentError.self) { try choice.checked(against: Self.known) }
        #expect(error?.description == "unknown category 'Gardening'")
    }
}

@Suite struct BackoffTests {
    private var backoff = Backoff()

    @Test mutating func `waits double up to twenty seconds, and to a minute when the hub stays away`() {
        var waits: [Duration] = []
        for _ in 0..<11 { waits.append(backoff.next(random: 1)) }
        #expect(waits == [2, 4, 8, 16, 20, 20, 20, 20, 20, 60, 60].map { .seconds($0) })
        backoff.reset()
        let afterReset = backoff.next(random: 0.5)
        #expect(afterReset == .seconds(1))
    }

    /// Ten thousand agents that lose their hub at once, each with waits of its own.
    @Test(arguments: [(45.0, 10.0, 20.0), (5, 5, 20)])
    func `after an outage half of the agents are back soon, and never all at once`(
        outage: Double,
        median: Double,
        last: Double
    ) {
        // Numbers as random as need be, and the same in each run.
        var state: UInt64 = 0x9E37_79B9_7F4A_7C15
        func random() -> Double {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Double(state >> 11) / Double(1 << 53)
        }
        let count = 10_000
        var returns = (0..<count).map { _ in
            var backoff = Backoff()
            var time = 0.0
            while time < outage { time += backoff.next(random: random()) / .seconds(1) }
            return time - outage
        }
        returns.sort()
        #expect(returns[count / 2] < median && returns[count - 1] < last)
        let busiest = Dictionary(grouping: returns) { Int($0) }.values.map(\.count).max() ?? 0
        #expect(busiest < count / 4, "\(busiest) in one second")
        #expect(outage < 45 || busiest < count / 8, "\(busiest) in one second")
    }

    @Test mutating func `jitter is full`() {
        let wait = backoff.next(random: 0)
        #expect(wait == .zero)
    }

    @Test mutating func `a great many failures do not overflow`() {
        for _ in 0..<10_000 { _ = backoff.next(random: 0.9) }
        let wait = backoff.next(random: 0.5)
        #expect(wait == .seconds(30))
    }

    @Test(arguments: [(5.0, 5.0), (0, 0.1), (-1, 0.1), (3_600, 60)])
    mutating func `retry sets the base within bounds`(seconds: Double, expected: Double) {
        backoff.base = .seconds(seconds)
        let wait = backoff.next(random: 1)
        #expect(wait == .seconds(expected))
    }

    @Test(arguments: [(90, 91), (86_400, 601), (-5, 1)])
    mutating func `Retry-After is the least wait, within reason`(seconds: Int, expected: Int) {
        let wait = backoff.next(retryAfter: .seconds(seconds), random: 0.5)
        #expect(wait == .seconds(expected))
    }
}

@Suite struct HubPresenceTests {
    @Test func `going and coming back are each said once`() {
        var presence = HubPresence()
        let news = [
            presence.failed(), presence.failed(), presence.opened(), presence.opened(), presence.received(),
        ]
        #expect(news == [true, false, true, false, false])
    }

    @Test func `a stream that ends is not news`() {
        var presence = HubPresence()
        let news = [presence.opened(), presence.ended(hadEvents: true), presence.opened()]
        #expect(news == [false, false, false])
    }

    @Test func `streams that all end at once are said once, and an event ends it`() {
        var presence = HubPresence()
        let news = (0..<12).map { _ in
            let opened = presence.opened()
            return (opened, presence.ended(hadEvents: false))
        }
        #expect(news.filter { $0.0 }.isEmpty)
        #expect(news.filter { $0.1 }.count == 1)
        let after = [presence.opened(), presence.received()]
        #expect(after == [false, true])
        #expect(!presence.isAway)
    }
}

@Suite struct HubFailureTests {
    @Test(arguments: [
        (401, 40_106, "The token is expired.", HubFailure.clockDiffers),
        (404, 40_400, "gone", .notFound("gone")),
        (409, 40_900, "no", .foreign),
        (503, 50_004, "busy", .away("it answered 503: busy", retryAfter: nil)),
        (429, 42_900, "slow", .away("it answered 429: slow", retryAfter: nil)),
    ])
    func `refusals are distinguished`(status: Int, code: Int, detail: String, expected: HubFailure) {
        #expect(HubFailure(.refused(status: status, code: code, detail: detail, retryAfter: nil)) == expected)
    }

    @Test(arguments: [(401, 40_103), (401, 40_102), (403, 40_300), (401, 401)])
    func `a refused key is a matter of configuration`(status: Int, code: Int) {
        let failure = HubFailure(.refused(status: status, code: code, detail: "ExpiredToken: no", retryAfter: nil))
        guard case .refused(let error) = failure else {
            Issue.record("\(failure)")
            return
        }
        #expect(error.exit == .badConfiguration)
    }

    @Test func `a quota is waited for`() {
        let failure = HubFailure(.refused(status: 403, code: 40_300, detail: "quota", retryAfter: .seconds(9)))
        #expect(failure == .away("it is throttling: quota", retryAfter: .seconds(9)))
    }
}

@Suite struct InboxFlowTests {
    @Test func `rows that are settled before their arrival is counted leave no count behind`() {
        let flow = InboxFlow(waiting: 0, limit: 2)
        for _ in 1...10 {
            // The worker reads the store, and can be faster than the receiver.
            flow.settled()
            flow.arrived(1)
        }
        #expect(!flow.isFull && flow.others == 0)
        flow.arrived(2)
        #expect(flow.isFull && flow.others == 1)
    }
}
