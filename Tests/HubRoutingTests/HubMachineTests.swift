import HubProtocol
import Testing

@testable import HubRouting

/// Random effects and inputs, against a simple model of what must follow.
struct HubMachineTests {
    private static let seeds = 20_000

    /// Most histories are short; some are long enough for everything to have changed several times.
    private static func steps(_ seed: Int) -> Int { seed.isMultiple(of: 20) ? 60 : 8 }

    private static let names = ["a", "b", "c", "d", "e"]
    private static let tags = ["World", "Sports", "username:bob"]
    private static let expressions: [String?] = [
        nil, "World", "!World", "World && !Sports", "username:bob", "!username:bob", "$InstallationId:{a}",
        "World || $InstallationId:{b}",
    ]
    private static let key = PushChannelSecret.random()
    private static let credentials = (0..<2).map { Credential(rule: "rule\($0)", key: "key\($0)") }
    private static let rules = credentials.map {
        AccessRule(name: $0.rule, primaryKey: $0.key, secondaryKey: "", rights: .listen)
    }
    private static let parsed: [TagExpression?] = expressions.map { text in
        text.flatMap { try? TagExpression(parsing: $0) }
    }

    fileprivate enum Step: Sendable {
        case effect(@Sendable (inout HubMachine) -> Void)
        case input(StreamInput)
    }

    /// What the machine should know, in the plainest way.
    private struct Model {
        struct Agent {
            var ordinal: Ordinal
            var recipient: Recipient
            var targets: [Target]
        }

        var agents: [String: Agent] = [:]
        var streams: [Ordinal: (id: StreamID, credential: Credential)] = [:]
        var rules = HubMachineTests.rules
        var isDisabled = false
        var isStopping = false
        var sequence: LogSequence = 0
        var ordinal: Ordinal = 0
        var stream: UInt64 = 0
        var scheduled: [Int] = []

        func agent(_ ordinal: Ordinal) -> Agent? { agents.values.first { $0.ordinal == ordinal } }
    }

    private static func installation(_ name: String, _ tags: [String]) throws -> Installation {
        Installation(
            id: try InstallationID(name),
            platform: .stream,
            pushChannel: nil,
            tags: try tags.map { try Tag($0) },
            templates: [AgentTemplate.name: InstallationTemplate(body: AgentTemplate.body)]
        )
    }

    private static func targets(_ name: String, _ tags: [String], _ ordinal: Ordinal) -> [Target] {
        let joined = (tags + ["$InstallationId:{\(name)}"]).joined(separator: ",")
        return [false, true].map { isTemplate in
            Target(
                ordinal: Ordinal(rawValue: ordinal.rawValue * 10 + (isTemplate ? 1 : 0)),
                platform: .stream,
                isTemplate: isTemplate,
                tags: joined,
                installation: ordinal,
                isMain: !isTemplate
            )
        }
    }

    private static func changes(from old: [Target], to new: [Target]) -> [TargetChange] {
        (0..<max(old.count, new.count)).map { place in
            TargetChange(
                old: place < old.count ? old[place] : nil,
                new: place < new.count ? new[place] : nil
            )
        }
    }

    private static func machine() -> HubMachine {
        HubMachine(
            policy: HubPolicy(rules: rules),
            namespaceRules: [],
            extent: LogExtent(top: 0, droppedThrough: 0),
            epochs: EpochHistory(epochs: [Epoch(name: "e", firstSequence: 1)]),
            reserved: .standard,
            loops: 2
        )
    }

    /// Takes one random step of the model, and says what the machine is to be given and what must be in its commands.
    private static func step(
        _ model: inout Model,
        _ random: inout some RandomNumberGenerator
    ) throws -> (Step, expected: Set<String>) {
        let name = names.randomElement(using: &random) ?? "a"
        switch Int.random(in: 0..<12, using: &random) {
        case 0...2:
            model.sequence = model.sequence.next
            let wanted = tags.filter { _ in Bool.random(using: &random) }
            let known = model.agents[name]
            if known == nil { model.ordinal = Ordinal(rawValue: model.ordinal.rawValue + 1) }
            let ordinal = known?.ordinal ?? model.ordinal
            let recipient = try Recipient(installation(name, wanted))
            let targets = targets(name, wanted, ordinal)
            let ends = known != nil && Int.random(in: 0..<5, using: &random) == 0
            let entry = Registry.Entry(
                ordinal: ordinal,
                id: try InstallationID(name),
                channelDigest: key.digest,
                createdSequence: model.sequence,
                recipient: recipient
            )
            model.agents[name] = Model.Agent(ordinal: ordinal, recipient: recipient, targets: targets)
            var expected: Set<String> = []
            if let stream = model.streams[ordinal] { expected = ["\(ends ? "end" : "move") \(stream.id.number)"] }
            if ends { model.streams[ordinal] = nil }
            let effect = InstallationEffect(
                ordinal: ordinal,
                entry: entry,
                sequence: model.sequence,
                targets: changes(from: known?.targets ?? [], to: targets),
                endsStream: ends
            )
            return (.effect { $0.apply(effect) }, expected)
        case 3:
            model.sequence = model.sequence.next
            guard let known = model.agents.removeValue(forKey: name) else { return (.effect { $0.apply([]) }, []) }
            let stream = model.streams.removeValue(forKey: known.ordinal)
            let effect = InstallationEffect(
                ordinal: known.ordinal,
                entry: nil,
                sequence: model.sequence,
                targets: changes(from: known.targets, to: []),
                endsStream: true
            )
            return (.effect { $0.apply(effect) }, stream.map { ["end \($0.id.number)"] } ?? [])
        case 4...6:
            model.stream += 1
            let id = StreamID(loop: Int.random(in: 0..<2, using: &random), number: model.stream)
            let credential = credentials.randomElement(using: &random) ?? credentials[0]
            let request = StreamRequest(
                id: id,
                installation: try InstallationID(name),
                grant: Grant(rights: .listen, credential: credential),
                channel: Bool.random(using: &random) ? key : nil,
                lastEventID: Bool.random(using: &random) ? "e-\(model.sequence)" : nil,
                at: 1
            )
            guard
                let agent = model.agents[name], request.channel != nil, !model.isDisabled, !model.isStopping,
                model.rules.contains(where: { $0.primaryKey == credential.key })
            else { return (.input(.attach(request)), ["refuse \(id.number)"]) }
            var expected: Set<String> = ["attach \(id.number)"]
            if let old = model.streams[agent.ordinal] { expected.insert("end \(old.id.number)") }
            model.streams[agent.ordinal] = (id, credential)
            return (.input(.attach(request)), expected)
        case 7:
            guard let (ordinal, stream) = model.streams.min(by: { $0.key < $1.key }) else { fallthrough }
            model.streams[ordinal] = nil
            return (.input(.detached(stream.id, of: ordinal, written: 1, ending: nil, at: 2)), [])
        case 8:
            var policy = HubPolicy(rules: rules)
            if Bool.random(using: &random) { policy.rules.removeFirst() }
            policy.isDisabled = Int.random(in: 0..<4, using: &random) == 0
            model.rules = policy.rules
            model.isDisabled = policy.isDisabled
            let gone = model.streams.filter { stream in
                policy.isDisabled || !policy.rules.contains { $0.primaryKey == stream.value.credential.key }
            }
            for ordinal in gone.keys { model.streams[ordinal] = nil }
            return (.effect { [policy] in $0.setPolicy(policy) }, Set(gone.values.map { "end \($0.id.number)" }))
        case 9:
            let bytes = Int.random(in: 1..<100, using: &random)
            model.scheduled.append(bytes)
            return (.effect { $0.schedule(bytes: bytes, dueAt: 5) }, [])
        case 10 where !model.scheduled.isEmpty:
            let bytes = model.scheduled.removeLast()
            return (.effect { $0.unschedule(messages: 1, bytes: bytes, nextDue: nil) }, [])
        default:
            model.sequence = model.sequence.next
            let choice = Int.random(in: 0..<parsed.count, using: &random)
            let message = try Message(
                audience: parsed[choice].map { .matching($0) } ?? .everybody,
                body: Array("{}".utf8)
            )
            let routed = RoutedMessage(sequence: model.sequence, id: .random(), message, installations: nil)
            let reached = model.streams.filter { model.agent($0.key)?.recipient.receives(routed) == true }
            return (.effect { $0.receive(routed, .nobody) }, Set(reached.values.map { "get \($0.id.number)" }))
        }
    }

    /// The streams that commands are about, as the model writes them.
    private static func names(_ commands: [[StreamCommand]], _ model: Model) -> Set<String> {
        var names: Set<String> = []
        for (loop, commands) in commands.enumerated() {
            for command in commands {
                switch command {
                case .attach(let id, _): names.insert("attach \(id.number)")
                case .refuse(let id, _): names.insert("refuse \(id.number)")
                case .move(let id, _, _): names.insert("move \(id.number)")
                case .end(let id, _): names.insert("end \(id.number)")
                case .head: break
                case .publish(let message): names.formUnion(reached(by: message, nil, loop, model))
                case .deliver(let message, let ids): names.formUnion(reached(by: message, ids, loop, model))
                }
            }
        }
        return names
    }

    private static func reached(
        by message: RoutedMessage,
        _ ids: [StreamID]?,
        _ loop: Int,
        _ model: Model
    ) -> [String] {
        model.streams.compactMap { ordinal, stream in
            guard stream.id.loop == loop, ids.map({ $0.contains(stream.id) }) ?? true else { return nil }
            guard let recipient = model.agent(ordinal)?.recipient else { return nil }
            // A cohort's recipient answers for a message that names nobody.
            let asked = message.namesIdentity(.standard) ? recipient : recipient.cohort(reserved: .standard)
            return asked.receives(message) ? "get \(stream.id.number)" : nil
        }
    }

    @Test func `sizes of scheduled messages from a hostile log do not overflow`() {
        var machine = Self.machine()
        for bytes in [Int.max, .max, .min, .min, .min, .max] {
            machine.schedule(bytes: bytes, dueAt: .distantPast)
            machine.unschedule(messages: bytes, bytes: bytes, nextDue: .distantFuture)
        }
        #expect(machine.status.scheduled.nextDue == .distantFuture)
    }

    @Test func `what a random history asks of streams is what a simple model says, and the same each time`() throws {
        for seed in 0..<Self.seeds {
            var random = SplitMix(state: UInt64(seed))
            var (model, machine) = (Model(), Self.machine())
            var (history, outcome): ([Step], [[[StreamCommand]]]) = ([], [])
            for number in 0..<Self.steps(seed) {
                let (step, expected) = try Self.step(&model, &random)
                history.append(step)
                machine.take(step)
                let commands = machine.takeCommands()
                outcome.append(commands)
                let named = Self.names(commands, model)
                guard named == expected else {
                    Issue.record("seed \(seed), step \(number): \(named.sorted()), not \(expected.sorted())")
                    return
                }
            }
            let status = machine.status
            #expect(status.streamCount == model.streams.count, "seed \(seed)")
            #expect(status.scheduled.messages == model.scheduled.count, "seed \(seed)")
            #expect(status.scheduled.bytes == model.scheduled.reduce(0, +), "seed \(seed)")
            #expect(status.installationCounts[.stream] ?? 0 == model.agents.count, "seed \(seed)")
            for expression in Self.parsed {
                let count = model.agents.values.count { agent in
                    expression?.matches { agent.recipient.tags.contains($0) } ?? true
                }
                #expect(machine.registry.counts(of: expression, .template).total == count, "seed \(seed)")
            }
            var again = Self.machine()
            let repeated = history.map { step in
                again.take(step)
                return again.takeCommands()
            }
            #expect(repeated == outcome, "seed \(seed)")
        }
    }
}

extension HubMachine {
    fileprivate mutating func take(_ step: HubMachineTests.Step) {
        switch step {
        case .effect(let effect): effect(&self)
        case .input(let input): apply(input)
        }
    }
}

/// A small generator whose numbers follow from its seed.
///
/// Source: Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
private struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
