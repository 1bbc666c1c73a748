import Foundation
import GRDB
import HubProtocol
import HubRouting
import Testing

@testable import HubStore

struct LogTests {
    @Test func `sequences and ordinals are never given again, not even after everything was dropped`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let first = try await store.change { try $0.insert(.agent("a"), channelDigest: [1], hub: hub, at: 0) }
        let last = try await store.append(hub)
        try await store.change { _ = try $0.delete(first.stored, hub: hub, at: 0) }
        try await store.change { _ = try $0.dropOldest(expiredBefore: 1, maximumBytes: .max, limit: 100) }
        try store.close()
        let (again, _) = try await scratch.store()
        #expect(try await again.extent() == LogExtent(top: 3, droppedThrough: 3))
        #expect(try await again.logSize().droppedBySize == 0)
        let second = try await again.change { try $0.insert(.agent("a"), channelDigest: [1], hub: hub, at: 0) }
        #expect(second.sequence == last.next.next)
        #expect(second.stored.ordinal.rawValue == first.stored.ordinal.rawValue + 1)
    }

    @Test func `ids that fold alike are one installation`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        try await store.change { _ = try $0.insert(.agent("Straße-A"), channelDigest: [1], hub: hub, at: 0) }
        for same in ["straße-a", "STRAßE-A"] {
            #expect(try await store.installation(hub: hub, id: InstallationID(same)) != nil, "\(same)")
        }
        await #expect(throws: DatabaseError.self) {
            try await store.change { _ = try $0.insert(.agent("STRAße-a"), channelDigest: [2], hub: hub, at: 0) }
        }
        #expect(
            try await store.installation(hub: hub, id: InstallationID("straße-a"))?.installation.id.text == "Straße-A"
        )
    }

    @Test func `pending messages follow the row in force, and rows without messages between them are one`()
        async throws
    {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        var current = try await store.change { try $0.insert(.agent("a"), channelDigest: [1], hub: hub, at: 0) }.stored
        func change(_ tags: String...) async throws -> LogSequence? {
            let (before, wanted) = (current, try Installation.agent("a", tags: tags))
            let write = try await store.change {
                try $0.update(before, to: wanted, channelDigest: [1], hub: hub, at: 0)
            }
            current = write.stored
            return write.sequence
        }
        #expect(try await change("x") == 2)
        #expect(try await change("y") == 3)
        #expect(try await store.append(hub) == 4)
        #expect(try await change("z") == 5)
        #expect(try await change("z") == nil, "the same again is no change")
        let pending = try await store.pendingMessages(
            hub: hub,
            ordinal: current.ordinal,
            after: 0,
            through: .end,
            limit: 9
        )
        #expect(pending.rows.map(\.afterSequence) == [3, 5])
        #expect(try pending.rows.map { try $0.installation.tags.map(\.text) } == [["y"], ["z"]])
    }

    @Test func `dropping the log drops the pending rows before it, and never the row in force`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        var current = try await store.change { try $0.insert(.agent("a"), channelDigest: [1], hub: hub, at: 0) }.stored
        for tag in ["x", "y", "z"] {
            try await store.append(hub)
            let before = current
            current = try await store.change {
                try $0.update(before, to: .agent("a", tags: [tag]), channelDigest: [1], hub: hub, at: 0)
            }.stored
        }
        let ordinal = current.ordinal
        func rows() async throws -> [LogSequence] {
            try await store.pendingMessages(hub: hub, ordinal: ordinal, after: 0, through: .end, limit: 9)
                .rows.map(\.afterSequence)
        }
        #expect(try await rows() == [1, 3, 5, 7])
        try await store.change { _ = try $0.dropOldest(expiredBefore: 1, maximumBytes: .max, limit: 4) }
        #expect(try await rows() == [3, 5, 7])
        try await store.change { _ = try $0.dropOldest(expiredBefore: 1, maximumBytes: .max, limit: 100) }
        #expect(try await rows() == [7])
        let last = current
        try await store.change { _ = try $0.delete(last, hub: hub, at: 0) }
        #expect(try await rows() == [])
    }

    @Test func `size is counted once and drops the oldest messages, expired or not`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        for _ in 0..<10 { try await store.append(hub, String(repeating: "x", count: 98), tags: "ab", at: 50) }
        let dropped = try await store.change { try $0.dropOldest(expiredBefore: nil, maximumBytes: 650, limit: 100) }
        #expect(dropped == DroppedRows(rows: 4, bySize: 4, through: 4, bytesLeft: 600))
        try await store.append(hub, String(repeating: "y", count: 100), at: 50)
        let next = try await store.change { try $0.dropOldest(expiredBefore: nil, maximumBytes: 650, limit: 100) }
        #expect(next == DroppedRows(rows: 1, bySize: 1, through: 5, bytesLeft: 600))
        #expect(try await store.extent() == LogExtent(top: 11, droppedThrough: 5))
        #expect(try await store.logSize().droppedBySize == 5)
    }

    @Test func `changes without a message between them leave one row`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        var stored = try await store.change {
            try $0.insert(try .agent("a", tags: ["0"]), channelDigest: nil, hub: hub, at: 0)
        }.stored
        for round in 1...3 {
            for change in 1...20 {
                let current = stored
                stored = try await store.change {
                    try $0.update(
                        current,
                        to: try .agent("a", tags: ["\(round).\(change)"]),
                        channelDigest: nil,
                        hub: hub,
                        at: 0
                    )
                }.stored
            }
            try await store.append(hub)
        }
        let rows = try await scratch.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM log WHERE ordinal = 1") }
        #expect(rows == 4, "where it was made, and one for each message")
        let pending = try await scratch.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM owed") }
        #expect(pending == 3)
    }

    @Test func `expiry stops at the first row that has not expired`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        for at in [10, 20, 90, 30] as [Timestamp] { try await store.append(hub, at: at) }
        let dropped = try await store.change { try $0.dropOldest(expiredBefore: 50, maximumBytes: .max, limit: 100) }
        #expect(dropped.through == 2)
        #expect(dropped.bySize == 0)
    }

    @Test func `rows of the future do not keep the others for ever`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let (day, twoDays): (Timestamp, Timestamp) = (86_400_000, 172_800_000)
        for at in [8_640_000_000, day] { try await store.append(hub, at: at) }
        try await store.change { try $0.endFuture(at: twoDays, limit: 10) }
        let none = try await store.change { try $0.dropOldest(expiredBefore: twoDays, maximumBytes: .max, limit: 9) }
        #expect(none.through == nil)
        let both = try await store.change {
            try $0.dropOldest(expiredBefore: twoDays + .milliseconds(1), maximumBytes: .max, limit: 9)
        }
        #expect(both.through == 2)
    }

    @Test func `instants move with the clock in steps`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        for at in [1, 2, 3, 100] as [Timestamp] { try await store.append(hub, at: at) }
        var last: LogSequence? = 0
        var steps: [LogSequence?] = []
        while let from = last {
            last = try await store.change {
                try $0.moveInstants(by: .milliseconds(10), noted: .distantPast...50, after: from, limit: 3)
            }
            steps.append(last)
        }
        #expect(steps == [3, 4, nil])
        let instants = try await scratch.read { try Int64.fetchAll($0, sql: "SELECT at FROM log ORDER BY sequence") }
        #expect(instants == [11, 12, 13, 100])
    }

    @Test func `epochs are kept as long as a cursor of theirs can be honoured`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        for name in ["a", "b", "c"] {
            try await store.change { _ = try $0.beginEpoch(named: name, at: 0) }
            try await store.append(hub)
        }
        #expect(
            try await store.epochs() == [
                Epoch(name: "a", firstSequence: 1), Epoch(name: "b", firstSequence: 2),
                Epoch(name: "c", firstSequence: 3),
            ]
        )
        try await store.change { _ = try $0.dropOldest(expiredBefore: 1, maximumBytes: .max, limit: 2) }
        try await store.change { _ = try $0.beginEpoch(named: "d", at: 0) }
        #expect(try await store.epochs().map(\.name) == ["b", "c", "d"])
    }
}
