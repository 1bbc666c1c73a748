import HubProtocol
import HubStreams
import NIOCore
import ServerSentEvents
import StreamProbe
import Testing

@testable import HubServer

/// What an agent is owed, decided by a few lines that share nothing with the hub.
private struct ExpectedEvents {
    var categories: Set<String>
    /// Titles with the names of the templates that showed them.
    var events: [String] = []

    mutating func send(_ title: String, _ message: Message, pair: Int) {
        let matches = message.matches(categories, pair)
        if message.isNative {
            if matches { events.append("\(title)/") }
            return
        }
        if matches { events.append("\(title)/newswire") }
        // The second template of the last pair bears a tag of its own.
        if pair == 2, message.matches(categories.union(["Extra"]), pair) { events.append("\(title)/second") }
    }
}

private enum Message {
    case category(String)
    case either(String, String, butNot: String)
    case toPair(Int)
    case user(Int, in: String)
    case broadcast
    /// In format `stream`.
    case native(String)
    /// In format `stream`, to the handles of both agents.
    case direct(Int)

    var isNative: Bool {
        switch self {
        case .native, .direct: true
        default: false
        }
    }

    func matches(_ tags: Set<String>, _ pair: Int) -> Bool {
        switch self {
        case .category(let name), .native(let name): tags.contains(name)
        case .either(let one, let other, let not): (tags.contains(one) || tags.contains(other)) && !tags.contains(not)
        case .toPair(let wanted), .direct(let wanted): wanted == pair
        case .user(let wanted, let category): wanted == pair && tags.contains(category)
        case .broadcast: true
        }
    }

    var tags: String? {
        switch self {
        case .category(let name), .native(let name): name.lowercased()
        case .either(let one, let other, let not): "(\(one) || \(other)) && !\(not)"
        case .toPair(let pair): "$InstallationId:{steady\(pair)} || $InstallationId:{coming\(pair)}"
        case .user(let pair, let category): "username:u\(pair) && \(category)"
        case .broadcast, .direct: nil
        }
    }
}

/// An agent that stays, one that comes and goes, and the model of what both are owed.
private struct Pair {
    var steady: Agent
    var coming: Agent
    var expected: ExpectedEvents
    var steadyStream: ProbedStream?
    var comingStream: ProbedStream?
    /// What each has kept, and from where it goes on.
    var steadyEvents: [String] = []
    var steadyCursor: String?
    var comingEvents: [String] = []
    var comingCursor: String?

    var streams: [ProbedStream] { [steadyStream, comingStream].compactMap { $0 } }
}

struct RandomMixTests {
    private static let names = CategoryList.standard + ["Extra"]

    @Test(arguments: 1...16)
    func `a steady agent, one that comes and goes, and the model see the same`(seed: UInt64) async throws {
        var mix = Mix(seed: seed)
        let scratch = try Scratch()
        // The second start goes on with the first one's file and cursors.
        for start in 1...2 {
            let small = { (configuration: inout HubConfiguration) in
                configuration.streamLimits.cohortBytes = 2_000
                configuration.streamLimits.personalBytes = 400
            }
            try await TestHub.run(scratch, configure: small) { hub in
                if start == 1 { try await mix.register(at: hub) }
                try mix.connect(to: hub)
                for _ in 0..<120 { try await mix.step(hub) }
                try await mix.finish(hub)
            }
        }
        for pair in mix.pairs {
            #expect(pair.steadyEvents == pair.expected.events)
            #expect(pair.comingEvents == pair.expected.events)
        }
    }

    private struct Mix {
        var random: SeededGenerator
        var pairs: [Pair] = []
        var sent = 0

        init(seed: UInt64) {
            random = SeededGenerator(seed)
            for index in 0..<3 {
                let categories = Self.choice(&random)
                func agent(_ name: String) -> Agent {
                    var agent = Agent("\(name)\(index)", tags: categories.sorted() + ["username:u\(index)"])
                    if index == 2 {
                        agent.templates["second"] = InstallationTemplate(body: AgentTemplate.body, tags: Self.extra)
                    }
                    return agent
                }
                pairs.append(
                    Pair(
                        steady: agent("steady"),
                        coming: agent("coming"),
                        expected: ExpectedEvents(categories: categories)
                    )
                )
            }
        }

        private static let extra = (try? Tag("Extra")).map { [$0] } ?? []

        private static func choice(_ random: inout SeededGenerator) -> Set<String> {
            Set(RandomMixTests.names.shuffled(using: &random).prefix(Int.random(in: 0...4, using: &random)))
        }

        func register(at hub: TestHub) async throws {
            for pair in pairs {
                try await hub.register(pair.steady, as: hub.manageGrant)
                try await hub.register(pair.coming, as: hub.manageGrant)
            }
        }

        mutating func connect(to hub: TestHub) throws {
            for index in pairs.indices {
                pairs[index].steadyStream = try hub.probe(
                    pairs[index].steady,
                    after: pairs[index].steadyCursor,
                    loop: index % 2
                )
            }
        }

        mutating func step(_ hub: TestHub) async throws {
            let index = Int.random(in: pairs.indices, using: &random)
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<11: try await send(hub)
            case 11..<13: try await choose(index, hub)
            case 13..<15: try await leave(index, hub)
            case 15..<17:
                guard pairs[index].comingStream == nil else { return }
                pairs[index].comingStream = try hub.probe(
                    pairs[index].coming,
                    after: pairs[index].comingCursor,
                    loop: Int.random(in: 0...1, using: &random)
                )
            case 17: pairs[index].steadyStream?.take(false)
            case 18: pairs[index].streams.randomElement(using: &random)?.take(true)
            default:
                for _ in 0..<20 { try await send(hub) }
            }
        }

        private mutating func send(_ hub: TestHub) async throws {
            let (one, other, third) = (name(), name(), name())
            let pair = Int.random(in: pairs.indices, using: &random)
            let message: Message =
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<3: .category(one)
                case 3: .either(one, other, butNot: third)
                case 4: .toPair(pair)
                case 5: .user(pair, in: one)
                case 6: .native(one)
                case 7: .direct(pair)
                default: .broadcast
                }
            sent += 1
            let title = "m\(sent)"
            if message.isNative {
                var handles: [String] = []
                if case .direct(let pair) = message {
                    handles = [pairs[pair].steady.secret.text, pairs[pair].coming.id]
                }
                try await hub.accept(native: title, tags: message.tags, handles: handles)
            } else {
                try await hub.accept(title, tags: message.tags)
            }
            for index in pairs.indices { pairs[index].expected.send(title, message, pair: index) }
        }

        private mutating func name() -> String { RandomMixTests.names.randomElement(using: &random) ?? "World" }

        /// Both agents of a pair choose alike, with no message in between; as agents, so that the reserved tag stays.
        private mutating func choose(_ index: Int, _ hub: TestHub) async throws {
            let categories = Self.choice(&random)
            pairs[index].expected.categories = categories
            pairs[index].steady.tags = categories.sorted()
            pairs[index].coming.tags = categories.sorted()
            try await hub.register(pairs[index].steady)
            try await hub.register(pairs[index].coming)
        }

        /// The connection is lost, and with it the end of what the hub has written.
        private mutating func leave(_ index: Int, _ hub: TestHub) async throws {
            guard let stream = pairs[index].comingStream else { return }
            if Bool.random(using: &random) { try await hub.settle([stream]) }
            stream.disconnect()
            try await stream.session.loop.eventLoop.submit {}.get()
            let events = stream.probe.events
            let kept = Bool.random(using: &random) ? events.count : Int.random(in: 0...events.count, using: &random)
            keep(index, Array(events.prefix(kept)))
        }

        private mutating func keep(_ index: Int, _ events: [ServerSentEvent]) {
            pairs[index].comingStream = nil
            #expect(events.allSatisfy { $0.event == nil }, "nothing was lost, so nothing may say so")
            if let id = events.last(where: { $0.id != nil })?.id { pairs[index].comingCursor = id }
            // As an agent's inbox, which knows messages by id and template.
            for event in events.shown where !pairs[index].comingEvents.contains(event) {
                pairs[index].comingEvents.append(event)
            }
        }

        mutating func finish(_ hub: TestHub) async throws {
            for index in pairs.indices {
                pairs[index].streams.forEach { $0.take(true) }
                let stream =
                    try pairs[index].comingStream
                    ?? hub.probe(pairs[index].coming, after: pairs[index].comingCursor)
                pairs[index].comingStream = stream
                try await hub.settle(pairs[index].streams)
                keep(index, stream.probe.events)
                let steady = pairs[index].steadyStream?.probe.events ?? []
                pairs[index].steadyEvents += steady.shown
                pairs[index].steadyCursor = steady.last { $0.id != nil }?.id ?? pairs[index].steadyCursor
            }
        }
    }
}

extension [ServerSentEvent] {
    /// Messages as the model writes them.
    fileprivate var shown: [String] {
        compactMap { event in
            guard event.event == nil, let data = event.data, let message = try? StreamEvent(parsing: data) else {
                return nil
            }
            return "\(message.title)/\(message.template)"
        }
    }
}

/// SplitMix64: the same numbers for the same seed, everywhere.
struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
