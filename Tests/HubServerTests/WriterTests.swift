import Foundation
import Glibc
import HostSystem
import HubProtocol
import HubRouting
import HubStore
import Logging
import StreamProbe
import Synchronization
import Testing

import class HubTestServer.Gate

@testable import HubServer

struct WriterTests {
    @Test func `what waits shares a commit and keeps its order`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await store(scratch)
        let batches = Counter()
        let heads = Kept<[LogSequence]>([])
        let writer = HubWriter(store: store, machine: .of(hub), logger: .quiet) { output, _, answer in
            batches.add()
            if let head = output.hubs[hub.id]?.status.head { heads.change { $0.append(head) } }
            answer()
        }
        try await withThrowingTaskGroup(of: LogSequence.self) { group in
            for _ in 0..<HubWriter.maximumBatch + 10 {
                group.addImmediateTask {
                    try await writer.append(to: hub)
                }
            }
            #expect(writer.backlog.changes == HubWriter.maximumBatch + 10)
            let running = Task { try await writer.run() }
            let answered = try await group.reduce(into: []) { $0.append($1) }
            running.cancel()
            try await running.value
            #expect(batches.count == 2)
            let all = Int64(HubWriter.maximumBatch + 10)
            #expect(heads.value.map(\.rawValue) == [Int64(HubWriter.maximumBatch), all])
            #expect(Set(answered.map(\.rawValue)) == Set(1...all))
        }
    }

    @Test func `changes are staged, applied and answered in one thread`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await store(scratch)
        let threads = Kept<Set<pthread_t>>([])
        let note = { @Sendable () -> Void in
            let thread = pthread_self()
            threads.change { $0.insert(thread) }
        }
        let writer = HubWriter(store: store, machine: .of(hub), logger: .quiet) { _, _, answer in
            note()
            answer()
            note()
        }
        let running = Task { try await writer.run() }
        for _ in 0..<20 {
            try await withTaskExecutorPreference(store.writerThread) {
                try await writer.perform(on: hub) { _, _ in (note(), []) }
                note()
            }
            await writer.passInOrder()
        }
        running.cancel()
        try await running.value
        #expect(threads.value.count == 1)
    }

    @Test func `what a request brings counts among what waits`() async throws {
        let agent = Agent("a")
        try await TestHub.held(try Scratch()) { hub in
            let grant = Grant(rights: .manage, credential: Credential(rule: "", key: ""))
            let patch = try InstallationPatch(json: Array(#"[{"op":"add","path":"/tags","value":"x"}]"#.utf8))
            let (id, installation) = (try InstallationID("a"), try agent.installation)
            let changes: [@Sendable () async throws -> Void] = [
                { try await hub.installations.put(installation, bytes: 1, grant: grant, channel: nil) },
                { try await hub.installations.patch(id, patch, bytes: 10, grant: grant, channel: nil) },
                { try await hub.setCategories(["World"], publisher: "p", bytes: 100) },
            ]
            let requests = changes.map { change in Task.immediate { try await change() } }
            #expect(hub.writer.backlog.changes == changes.count)
            #expect(hub.writer.backlog.bytes == 111)
            return { for request in requests { _ = await request.result } }
        }
    }

    @Test func `a cancelled request does not undo the others`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let requests = (0..<50).map { number in
                Task {
                    if number.isMultiple(of: 2) { withUnsafeCurrentTask { $0?.cancel() } }
                    return try await hub.accept("\(number)")
                }
            }
            for request in requests { _ = try await request.value }
            let counted = try await hub.hub.store.pendingMessages(
                hub: hub.hub.record.id,
                ordinal: 0,
                after: 0,
                through: .end,
                limit: 100
            )
            #expect(counted.messages.count == 50)
        }
    }

    @Test func `a writer that is cancelled answers all that waits, and lets go of events`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await store(scratch)
        let writer = HubWriter(store: store, machine: .of(hub), logger: .quiet) { $2() }
        let request = Task.immediate { try await writer.append(to: hub) }
        #expect(writer.backlog.changes == 1)
        let running = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await writer.run()
        }
        try await running.value
        let error = await #expect(throws: ProtocolError.self) { _ = try await request.value }
        #expect(error?.status == 503)
        await writer.passInOrder()
    }

    @Test func `a change of a damaged table is refused, and those that share its commit are made`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await store(scratch)
        try await scratch.damage("DROP TABLE alarmState")
        let writer = HubWriter(store: store, machine: .of(hub), logger: .quiet) { $2() }
        let damaged = Task.immediate {
            try await writer.perform(on: hub) { transaction, _ in
                (try transaction.setAlarmState("{}", hub: hub.id), [])
            }
        }
        let sound = Task.immediate { try await writer.append(to: hub) }
        #expect(writer.backlog.changes == 2)
        let running = Task { try await writer.run() }
        let sequence = try await sound.value
        let error = await #expect(throws: ProtocolError.self) { try await damaged.value }
        #expect(sequence.rawValue == 1 && error?.status == 503)
        #expect(writer.health.failureReason == "no such table: alarmState")
        _ = try await writer.append(to: hub)
        #expect(writer.health.failureReason == nil)
        running.cancel()
        try await running.value
    }

    @Test func `a full disk refuses all, delivers none of it, and is said; then the hub is healthy again`() async throws
    {
        try await TestHub.run(try Scratch(), configure: { $0.maximumPages = 160 }) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let stream = try await hub.stream(agent)
            #expect(try await hub.send("GET", "/readyz", as: nil).body == "ready\n")
            let long = String(repeating: "x", count: 8_000)
            var accepted: [String] = []
            var refusal: ProtocolError?
            while refusal == nil {
                let title = "m\(accepted.count)"
                do {
                    try await hub.accept(title, message: long)
                    accepted.append(title)
                } catch let error as ProtocolError {
                    refusal = error
                }
            }
            #expect(refusal?.status == 503)
            #expect(refusal?.detail.contains("disk is full") == true)
            var ready: Reply
            var tries = 0
            // A note of how far streams are is small, may still fit in between, and then says that all is well.
            repeat {
                let reply = try await hub.post(["title": "never", "messageParam": long])
                #expect(reply.status == 503)
                #expect(reply.headers["retry-after"] != nil)
                ready = try await hub.send("GET", "/readyz", as: nil)
                tries += 1
            } while ready.status != 503 && tries < 20
            #expect(ready.status == 503)
            #expect(ready.body.contains("the disk is full"))
            #expect(try await hub.send("GET", "/healthz", as: nil).status == 200)
            var received: [String] = []
            for _ in accepted { received.append(try await stream.message().title) }
            #expect(received == accepted)
            // All the news expires, which makes room; so does the token of the stream.
            try await hub.pass(4 * 86_400, of: TestTime())
            #expect(try await hub.send("GET", "/readyz", as: nil).status == 200)
            #expect(try await hub.post(["title": "last"]).status == 201)
            let next = try await hub.stream(agent, after: stream.cursor)
            #expect(try await next.titles(until: "last") == [], "none of it a second time")
        }
    }

    @Test func `a hub whose disk has space again is ready without a send`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            func ready() async throws -> Int { try await hub.send("GET", "/readyz", as: nil).status }
            try await hub.hub.store.fill()
            let long = String(repeating: "x", count: 8_000)
            let refused = try await hub.post(["title": "never", "messageParam": long])
            #expect(refused.status == 503)
            await #expect(throws: ProtocolError.self) { try await hub.service.housekeeping.recover() }
            #expect(try await ready() == 503, "a small write is no proof of room")
            try await hub.hub.store.empty()
            try await hub.service.housekeeping.recover()
            #expect(try await ready() == 200)
            #expect(Housekeeping.rulesInterval * Housekeeping.looksPerRecovery <= .seconds(5))
        }
    }

    @Test func `how far streams are is kept until the disk has taken it`() async throws {
        try await TestHub.run(try Scratch(), configure: { $0.maximumPages = 160 }) { hub in
            let long = String(repeating: "x", count: 8_000)
            try await hub.register(Agent("a"))
            while (try? await hub.accept("m", message: long)) != nil {}
            // Larger than what may be left in the pages that the file has.
            let progress = StreamProgress(ordinal: 1, written: 3, resumedFrom: long + long, connectedAt: 7)
            hub.hub.writer.post(.progress([progress]), to: hub.hub.record.id)
            let error = await #expect(throws: ProtocolError.self) { try await hub.hub.flushProgress() }
            #expect(error?.status == 503)
            #expect(try await hub.hub.ask { $0.progress } == [1: progress])
            try await hub.pass(4 * 86_400, of: TestTime())
            try await hub.hub.flushProgress()
            #expect(try await hub.hub.ask { $0.progress } == [:])
            #expect(try await hub.hub.store.progress(ordinal: 1) == progress)
        }
    }

    @Test func `how far a stream is is known while it is being written, and what comes meanwhile is written next`()
        async throws
    {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in try await hub.register(Agent("a")) }
        let first = StreamProgress(ordinal: 1, written: 3, connectedAt: 7)
        let second = StreamProgress(ordinal: 1, written: 4, connectedAt: 7)
        try await TestHub.held(scratch) { hub in
            hub.writer.post(.progress([first]), to: hub.record.id)
            let older = StreamProgress(ordinal: 1, written: 2)
            hub.writer.post(.progressFlushed([1: older], elsewhere: [:]), to: hub.record.id)
            return {
                #expect(try await hub.ask { $0.progress } == [1: first], "something older was flushed")
                let flushed = Task { try await hub.flushProgress() }
                hub.writer.post(.progress([second]), to: hub.record.id)
                try await flushed.value
                #expect(try await hub.ask { $0.progress } != [1: first])
                try await hub.flushProgress()
                #expect(try await hub.ask { $0.progress } == [:])
            }
        }
        #expect(try await HubStore(path: scratch.path).progress(ordinal: 1) == second)
    }

    @Test func `whatever a hub that is stopped had accepted is there`() async throws {
        let scratch = try Scratch()
        let (accepted, isFirst) = (Kept<Set<String>>([]), Gate())
        let sending = try await TestHub.run(scratch) { hub in
            let sending = Task {
                await withTaskGroup(of: Void.self) { group in
                    for number in 0..<400 {
                        group.addTask {
                            guard let id = try? await hub.accept("\(number)") else { return }
                            accepted.change { $0.insert(id.text) }
                            isFirst.open()
                        }
                    }
                }
            }
            await isFirst.opened()
            return sending
        }
        await sending.value
        let (store, hub) = try await store(scratch)
        let kept = try await store.pendingMessages(hub: hub.id, ordinal: 0, after: 0, through: .end, limit: 1_000)
        #expect(Set(try kept.messages.map { try $0.id.text }) == accepted.value)
    }

    private func store(_ scratch: Scratch) async throws -> (HubStore, HubRecord) {
        let store = try HubStore(path: scratch.path)
        if let hub = try await store.hubs().first { return (store, hub) }
        let name = try HubName("news")
        let made = try await store.commit([
            { @Sendable (transaction: Transaction) throws -> HubRecord in
                try transaction.insertHub(name, rules: [], at: 0)
            }
        ])
        return (store, try made[0].get())
    }
}

extension NamespaceMachine {
    /// One hub of which nothing is known.
    static func of(_ hub: HubRecord) -> NamespaceMachine {
        let epochs = EpochHistory(epochs: [Epoch(name: "e", firstSequence: 1)])
        var machine = NamespaceMachine(rules: [], epochs: epochs, reserved: .standard, loops: 1)
        machine.load(
            hub.id,
            HubPolicy(),
            registry: Registry(),
            scheduled: .none,
            extent: LogExtent(top: 0, droppedThrough: 0)
        )
        return machine
    }
}

extension HubWriter {
    /// Accepts a message to nobody.
    func append(to hub: HubRecord) async throws -> LogSequence {
        try await perform(on: hub, bytes: 1) { transaction, _ in
            let (id, message) = (MessageID.random(), try Message(body: Array("{}".utf8)))
            let record = try MessageRecord(id: id, tags: nil, body: message.body)
            let sequence = try transaction.appendMessage(record, hub: hub.id, at: 0)
            let routed = RoutedMessage(sequence: sequence, id: id, message, installations: nil)
            return (sequence, [MessageEffect(routed, matched: .nobody)])
        }
    }
}

final class Counter: Sendable {
    private let value = Atomic(0)
    var count: Int { value.load(ordering: .relaxed) }
    func add() { value.add(1, ordering: .relaxed) }
}

extension Logger {
    static let quiet = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
}
