import Foundation
import HubProtocol
import HubRouting
import Testing

@testable import HubStore

struct ScheduledTests {
    private func record(_ text: String, targets: MessageTargets? = nil) throws -> MessageRecord {
        try MessageRecord(
            id: .random(),
            tags: "World",
            body: Array(text.utf8),
            format: .apple,
            headers: ForwardedHeaders(values: ["apns-topic": "t"]),
            targets: targets
        )
    }

    @Test func `messages come due in the order of their times, as they were scheduled`() async throws {
        let (store, hub) = try await Scratch().store()
        var targets = MessageTargets()
        targets.handles = [
            .handle("AA"), .browser(BrowserPushChannel(endpoint: "https://x.example/1", p256dh: "k", auth: "a")),
        ]
        targets.installations = [try InstallationID("a")]
        targets.registrations = [try RegistrationID("1-2-3")]
        (targets.unknown, targets.isDirect, targets.isTest) = (1, true, true)
        let (first, second) = (try record("1", targets: targets), try record("2"))
        try await store.change {
            try $0.schedule(second, hub: hub, dueAt: 30, at: 1)
            try $0.schedule(first, hub: hub, dueAt: 20, at: 2)
        }
        #expect(
            try await store.scheduledLoad(hub: hub)
                == ScheduledLoad(messages: 2, bytes: first.bytes + second.bytes, nextDue: 20)
        )
        #expect(try await store.scheduledLoad(hub: HubKey(rawValue: hub.rawValue + 1)) == .none)
        #expect(try await store.change { try $0.dueMessages(hub: hub, at: 19, limit: 9) }.isEmpty)
        #expect(try await store.change { try $0.dueMessages(hub: hub, at: 30, limit: 1) }.map(\.dueAt) == [20])
        let due = try await store.change { try $0.dueMessages(hub: hub, at: 30, limit: 9) }
        #expect(due.map(\.record) == [first, second] && due.map(\.scheduledAt) == [2, 1])
        let read = due[0].record
        #expect(try read.targets == targets && read.headers.values == ["apns-topic": "t"] && read.format == .apple)
        try await store.change { try $0.forgetScheduled(due[0]) }
        #expect(try await store.change { try $0.nextDue(hub: hub) } == 30)
        #expect(try await store.scheduledMessage(hub: hub, id: first.id) == nil)
        #expect(try await store.scheduledMessages(hub: hub, limit: 9).map(\.record) == [second])
    }

    @Test func `what is not ASCII counts as the bytes that it takes, in the log and before`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        var targets = MessageTargets()
        targets.handles = [.handle("日本")]
        let record = try MessageRecord(
            id: .random(),
            tags: "日本 || Köln",
            body: Array(#"{"a":"日本"}"#.utf8),
            headers: ForwardedHeaders(values: ["a": "ä"]),
            targets: targets
        )
        try await store.change { try $0.schedule(record, hub: hub, dueAt: 20, at: 2) }
        #expect(try await store.scheduledLoad(hub: hub).bytes == record.bytes)
        let copy = try MessageRecord(
            id: .random(),
            tags: record.tags,
            body: record.body,
            headers: record.headers,
            targets: record.targets
        )
        _ = try await store.change { try $0.appendMessage(copy, hub: hub, at: 7) }
        #expect(try await store.logSize().bytes == Int64(record.bytes))
        #expect(try await store.change { try $0.countBytes() } == Int64(record.bytes))
    }

    @Test func `of a canceled message only that it was is kept, and of the newest of them`() async throws {
        let (store, hub) = try await Scratch().store()
        var messages: [ScheduledMessage] = []
        for number in 0..<3 {
            let record = try record("x")
            try await store.change {
                try $0.schedule(record, hub: hub, dueAt: 50, at: Timestamp(milliseconds: Int64(number)))
            }
            messages.append(try #require(try await store.scheduledMessage(hub: hub, id: record.id)))
        }
        let known = messages
        try await store.change {
            for (number, message) in known.enumerated() {
                try $0.cancel(message, hub: hub, at: Timestamp(milliseconds: 10 + Int64(number)))
            }
        }
        let canceled = try #require(try await store.scheduledMessage(hub: hub, id: known[2].record.id))
        #expect(canceled.canceledAt == 12 && canceled.record.body.isEmpty && canceled.record.tags == "World")
        #expect(try canceled.record.targets == nil)
        #expect(try await store.scheduledLoad(hub: hub) == .none)
        #expect(try await store.change { try $0.dueMessages(hub: hub, at: 99, limit: 9) }.isEmpty)
        try await store.change { try $0.dropCanceled(before: 12) }
        let left = try await known.asyncMap { try await store.scheduledMessage(hub: hub, id: $0.record.id) != nil }
        #expect(left == [false, false, true])
    }

    @Test func `a message in the log keeps all it was sent with, and its size counts`() async throws {
        let (store, hub) = try await Scratch().store()
        var targets = MessageTargets()
        targets.handles = (0..<100).map { .handle("handle\($0)") }
        let record = try record("{}", targets: targets)
        let sequence = try await store.change {
            try $0.appendMessage(record, hub: hub, at: 7, enqueuedAt: 5)
        }
        let message = try #require(try await store.message(hub: hub, id: record.id, through: sequence))
        #expect(message.logged.record == record && message.at == 7 && message.enqueuedAt == 5)
        #expect(try message.logged.record.targets == targets)
        #expect(try await store.logSize().bytes == Int64(record.bytes))
        #expect(record.bytes > 1_000)
        let pending = try await store.pendingMessages(hub: hub, ordinal: 1, after: 0, through: .end, limit: 9)
        #expect(pending.messages.isEmpty, "no stream is owed a phone's message")
        let stream = try MessageRecord(id: .random(), tags: nil, body: Array("{}".utf8), format: .stream)
        _ = try await store.change { try $0.appendMessage(stream, hub: hub, at: 8) }
        let both = try await store.pendingMessages(hub: hub, ordinal: 1, after: 0, through: .end, limit: 9)
        #expect(both.messages.map(\.record) == [stream])
    }
}

extension Array {
    fileprivate func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
