import Foundation
import GRDB
import HubProtocol
import SQLiteFiles
import Testing

@testable import SubscriberAgent

@Suite struct AgentStoreTests {
    let scratch: Scratch
    let store: AgentStore

    init() throws {
        scratch = try Scratch()
        store = try AgentStore(path: scratch.file("agent.sqlite"))
    }

    @Test func `an identity is made once and survives`() async throws {
        let first = try await store.record()
        store.close()
        let again = try AgentStore(path: scratch.file("agent.sqlite"))
        let second = try await again.record()
        #expect(second == first)
        #expect(first.channel.text.count == 43)
        #expect(first.categories == nil)
        #expect(first.cursor == nil)
    }

    @Test func `two programs that make the store at once get one identity`() async throws {
        let path = scratch.file("race.sqlite")
        let ids = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<4 {
                group.addTask { try await AgentStore(path: path).record().installation.text }
            }
            return try await group.reduce(into: Set<String>()) { $0.insert($1) }
        }
        #expect(ids.count == 1)
    }

    @Test func `commits are durable and the files are private`() async throws {
        let synchronous = try await store.pool.writeWithoutTransaction {
            try Int.fetchOne($0, sql: "PRAGMA synchronous")
        }
        #expect(synchronous == 2)
        try await store.choose(["World"])
        for name in ["agent.sqlite", "agent.sqlite-wal"] {
            let rights = try FileManager.default.attributesOfItem(atPath: scratch.file(name))[.posixPermissions]
            #expect(rights as? Int == 0o600, "\(name)")
        }
    }

    @Test func `a store of a newer version is refused`() async throws {
        try await store.pool.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('999 later')") }
        store.close()
        #expect(throws: DatabaseFileError.self) { try AgentStore(path: scratch.file("agent.sqlite")) }
    }

    @Test func `no choice, an empty choice and a choice are three things`() async throws {
        #expect(try await store.record().categories == nil)
        try await store.choose([])
        #expect(try await store.record().categories == [])
        #expect(try await store.record().needsRegistration)
        try await store.choose(["Sports", "World"])
        #expect(try await store.record().categories == ["Sports", "World"])
        try await store.setRegistered(["Sports", "World"])
        #expect(try await store.record().needsRegistration == false)
    }

    @Test func `a repeat is passed over, in one batch and in a later one`() async throws {
        try await store.choose(["World"])
        let first = try await store.receive([.sample(1), .sample(2), .sample(1)], cursor: "e-2", at: .sample)
        #expect(first.map(\.id) == ["m1", "m2"])
        let second = try await store.receive([.sample(2), .sample(3)], cursor: "e-3", at: .sample)
        #expect(second.map(\.id) == ["m3"])
        let rows = try await store.records(last: 10, states: InboxRecord.State.allCases)
        #expect(rows.map(\.id) == ["m1", "m2", "m3"])
        #expect(try await store.record().cursor == "e-3")
    }

    @Test func `one message in two templates is two rows`() async throws {
        let taken = try await store.receive([.sample(1), .sample(1, template: "other")], cursor: nil, at: .sample)
        #expect(taken.count == 2)
    }

    /// A message of a story, with further members.
    private func arrival(_ number: Int, _ story: String, _ members: String = "") -> Arrival {
        let body = #"{"title":"t\#(number)","story":"\#(story)"\#(members)}"#
        return Arrival(
            kind: .message,
            id: "m\(number)",
            template: "newswire",
            body: body,
            content: MessageContent(body: body),
            failure: nil
        )
    }

    private func supersessions() async throws -> [InboxRecord.Supersession?] {
        try await store.records(last: 20, states: InboxRecord.State.allCases).map(\.supersession)
    }

    @Test func `messages that later ones replace are marked, in one batch and in a later one`() async throws {
        try await store.receive(
            [
                arrival(1, "a"), arrival(2, "b"), arrival(3, "a", #","status":"update","replaces":"a""#),
                arrival(4, ""), arrival(5, "c"),
            ],
            cursor: nil,
            at: .sample
        )
        #expect(try await supersessions() == [.replaced, nil, nil, nil, nil])
        try await store.receive([arrival(6, "a", #","status":"withdrawn","replaces":"a b""#)], cursor: nil, at: .sample)
        #expect(try await supersessions() == [.withdrawn, .withdrawn, .withdrawn, nil, nil, nil])
        // A late update does not bring back what was withdrawn; a status of another sender's says nothing.
        let late = [
            arrival(7, "a", #","status":"correction""#), arrival(8, "c", #","status":"?""#),
            arrival(9, "", #","status":"withdrawn","replaces":"""#),
        ]
        try await store.receive(late, cursor: nil, at: .sample)
        #expect(try await supersessions() == [.withdrawn, .withdrawn, .withdrawn, nil, nil, .replaced, nil, nil, nil])
    }

    // MARK: One version of a story in several categories

    private func version(_ number: Int, _ category: String, _ version: String = "v", _ members: String = "") -> Arrival
    {
        arrival(number, "a", #","category":"\#(category)","version":"\#(version)""# + members)
    }

    private func same(_ last: Int = 20) async throws -> [String?] {
        try await store.records(last: last, states: InboxRecord.State.allCases).map(\.sameAs)
    }

    @Test func `a version of a story that another category has brought is marked, in one batch and in a later one`()
        async throws
    {
        try await store.receive(
            [version(1, "World"), version(2, "Europe"), version(3, "World"), version(4, "Top", "w")],
            cursor: nil,
            at: .sample
        )
        // A category's own repeat is the sender's wish.
        #expect(try await same() == [nil, "m1", nil, nil])
        try await store.receive(
            [
                version(5, "Top"), arrival(6, "b", #","category":"Top","version":"v""#),
                arrival(7, "a", #","version":"v""#), arrival(8, "a", #","category":"Top""#),
            ],
            cursor: nil,
            at: .sample
        )
        #expect(try await same(4) == ["m3", nil, nil, nil])
    }

    @Test func `an urgent message is marked only if an urgent one was there`() async throws {
        let urgent = #","urgency":"critical""#
        let all = [
            version(1, "World"), version(2, "Europe", "v", urgent), version(3, "Top", "v", urgent), version(4, "X"),
        ]
        try await store.receive(all, cursor: nil, at: .sample)
        #expect(try await same() == [nil, nil, "m2", "m2"])
    }

    @Test func `after three days a version is no longer recognized, and never from a message that failed`()
        async throws
    {
        try await store.receive([version(1, "World")], cursor: nil, at: .sample)
        _ = try await store.startNext()
        try await store.settle(.failed(1, reason: "no"))
        try await store.receive([version(2, "Europe")], cursor: nil, at: .sample)
        #expect(try await same() == [nil, nil])
        let window = AgentStore.sameVersionWindow.components.seconds * 1_000
        let later = Timestamp(milliseconds: Timestamp.sample.milliseconds + window)
        try await store.receive([version(3, "Top")], cursor: nil, at: later)
        let tooLate = Timestamp(milliseconds: later.milliseconds + 1)
        try await store.receive([version(4, "Late")], cursor: nil, at: tooLate)
        #expect(try await same() == [nil, nil, "m2", nil])
    }

    @Test func `a correction in several categories is marked once, and does not replace itself`() async throws {
        let correction = #","status":"correction","replaces":"a""#
        try await store.receive(
            [
                version(1, "World"), version(2, "Europe"), version(3, "World", "c", correction),
                version(4, "Europe", "c", correction),
            ],
            cursor: nil,
            at: .sample
        )
        #expect(try await same() == [nil, "m1", nil, "m3"])
        #expect(try await supersessions() == [.replaced, .replaced, nil, nil])
    }

    @Test func `if the handlers of the first message fail, the next one with the same version is passed on as new`()
        async throws
    {
        try await store.receive([version(1, "World"), version(2, "Europe")], cursor: nil, at: .sample)
        #expect(try await store.startNext()?.sameAs == nil)
        let second = try #require(try await store.startNext(settling: .failed(1, reason: "no")))
        #expect(second.id == "m2")
        #expect(second.sameAs == nil)
    }

    @Test func `the look for the same version uses an index`() async throws {
        let plan = try await store.read { database in
            try Row.fetchAll(
                database,
                sql: "EXPLAIN QUERY PLAN \(AgentStore.sameVersionSQL)",
                arguments: ["v", "s", "c", 1]
            ).map { $0["detail"] as String }
        }
        #expect(plan.contains { $0.contains("inbox_by_version") }, "\(plan)")
    }

    @Test func `a message without text takes nothing's place, and none takes its`() async throws {
        var silent = arrival(2, "a", #","status":"withdrawn","replaces":"a b""#)
        silent.emptiness = "it has no text in French"
        try await store.receive([arrival(1, "a"), silent], cursor: nil, at: .sample)
        #expect(try await supersessions() == [nil, nil])
        try await store.receive([arrival(3, "a", #","status":"update","replaces":"a""#)], cursor: nil, at: .sample)
        #expect(try await supersessions() == [.replaced, nil, nil])
        let silentRow = try #require(try await store.records(last: 1, states: [.empty]).first)
        #expect(silentRow.relation == StoryRelation())
    }

    @Test func `a message and its withdrawal are both handed on, the former marked`() async throws {
        try await store.receive(
            [arrival(1, "a"), arrival(2, "a", #","status":"withdrawn","message":"Cancelled: t1""#)],
            cursor: nil,
            at: .sample
        )
        let first = try #require(try await store.startNext())
        let second = try #require(try await store.startNext(settling: .done(first.ordinal)))
        #expect(InboxLine(first).text == "(withdrawn later) t1")
        #expect(InboxLine(second).text == "(withdrawn) Cancelled: t1")
    }

    @Test func `the first release's inbox is taken over`() async throws {
        let path = scratch.file("old.sqlite")
        let queue = try DatabaseQueue(path: path)
        try AgentStore.migrator.migrate(queue, upTo: "1 agent and inbox")
        try await queue.write { database in
            try database.execute(
                sql: """
                    INSERT INTO mark VALUES (1, 'm1', 'newswire');
                    INSERT INTO inbox (ordinal, kind, id, template, body, title, message, link, category, received_at, state)
                    VALUES (1, 'message', 'm1', 'newswire', '{"title":"t"}', 't', '', '', '', 1, 'pending');
                    """
            )
        }
        try queue.close()
        let store = try AgentStore(path: path)
        let rows = try await store.records(last: 9, states: [.pending])
        #expect(rows.map(\.id) == ["m1"])
        #expect(rows.map(\.supersession) == [nil])
        #expect(rows.map(\.receivedAt.milliseconds) == [1])
        try await store.receive([arrival(2, "a"), arrival(3, "a", #","status":"update""#)], cursor: nil, at: .sample)
        let marks = try await store.records(last: 9, states: [.pending]).map(\.supersession)
        #expect(marks == [nil, .replaced, nil])
    }

    @Test func `rows of a story are found by index`() async throws {
        let plan = try await store.pool.read { database in
            try Row.fetchAll(
                database,
                sql: "EXPLAIN QUERY PLAN \(AgentStore.supersedeSQL)",
                arguments: ["replaced", "[]", 1]
            ).map { $0["detail"] as String }
        }
        #expect(plan.contains { $0.contains("inbox_by_story") }, "\(plan)")
    }

    @Test func `an event without an id leaves the cursor`() async throws {
        try await store.choose(["World"])
        try await store.receive([.sample(1)], cursor: "e-1", at: .sample)
        try await store.receive([.sample(2)], cursor: nil, at: .sample)
        #expect(try await store.record().cursor == "e-1")
    }

    @Test func `a full disk takes neither row nor cursor, and all once there is space`() async throws {
        try await store.choose(["World"])
        try await store.receive([.sample(1)], cursor: "e-1", at: .sample)
        try await store.fill()
        let large = Arrival.sample(2, title: String(repeating: "x", count: 60_000))
        await #expect(throws: DatabaseFileError(store.path, .temporary, "the disk is full")) {
            try await store.receive([large], cursor: "e-2", at: .sample)
        }
        #expect(try await store.record().cursor == "e-1")
        #expect(try await store.records(last: 10, states: [.pending]).map(\.id) == ["m1"])
        try await store.empty()
        try await store.receive([large], cursor: "e-2", at: .sample)
        #expect(try await store.record().cursor == "e-2")
    }

    @Test func `a write is whole even when its task is cancelled`() async throws {
        try await store.choose(["World"])
        let store = store
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await store.receive([.sample(1)], cursor: "e-1", at: .sample)
        }
        _ = try await task.value
        #expect(try await store.record().cursor == "e-1")
    }

    @Test func `rows are started in order, one at a time`() async throws {
        try await store.receive([.sample(1), .sample(2)], cursor: nil, at: .sample)
        let first = try #require(try await store.startNext())
        #expect(first.id == "m1")
        #expect(first.state == .started)
        #expect(!first.isRedelivery)
        let second = try #require(try await store.startNext(settling: .done(first.ordinal)))
        #expect(second.id == "m2")
        #expect(try await store.startNext(settling: .failed(second.ordinal, reason: "why")) == nil)
        let rows = try await store.records(last: 10, states: InboxRecord.State.allCases)
        #expect(rows.map(\.state) == [.done, .failed])
        #expect(rows.map(\.reason) == [nil, "why"])
        #expect(try await store.unsettledCount() == 0)
    }

    @Test func `a row found started is a redelivery`() async throws {
        try await store.receive([.sample(1)], cursor: nil, at: .sample)
        _ = try await store.startNext()
        store.close()
        let again = try AgentStore(path: scratch.file("agent.sqlite"))
        let row = try #require(try await again.startNext())
        #expect(row.id == "m1")
        #expect(row.isRedelivery)
        #expect(row.failures == 0)
    }

    @Test func `a released row is as if never taken`() async throws {
        try await store.receive([.sample(1)], cursor: nil, at: .sample)
        let row = try #require(try await store.startNext())
        try await store.settle(.released(row.ordinal))
        #expect(try await store.records(last: 1, states: [.pending]).count == 1)
        #expect(try await store.startNext()?.isRedelivery == false)
        // Started by an earlier run, and then released by this one: it is still a redelivery.
        _ = try await store.startNext()
        try await store.settle(.released(row.ordinal))
        #expect(try await store.startNext()?.isRedelivery == true)
    }

    @Test func `history is bounded by count, and waiting rows are never dropped`() async throws {
        let bounds = AgentStore.Bounds(settled: 3, marks: 5)
        let store = try AgentStore(path: scratch.file("bounded.sqlite"), bounds: bounds)
        try await store.receive((1...10).map { .sample($0) }, cursor: nil, at: .sample)
        try await store.purge()
        #expect(try await store.unsettledCount() == 10)
        var row = try await store.startNext()
        for _ in 1...8 { row = try await store.startNext(settling: .done(try #require(row).ordinal)) }
        try await store.purge()
        let rows = try await store.records(last: 20, states: InboxRecord.State.allCases)
        #expect(rows.map(\.id) == ["m6", "m7", "m8", "m9", "m10"])
        // Gone from the history, still known.
        let repeats = try await store.receive([.sample(6), .sample(10)], cursor: nil, at: .sample)
        #expect(repeats.isEmpty)
    }

    @Test func `a NUL in a text does not cut it`() async throws {
        let event = try StreamEvent(
            parsing:
                #"{"id":"\#(MessageID.random().text)","template":"","body":{"title":"a\u0000b","message":"c\u0000d"}}"#
        )
        try await store.receive([.message(event, rendered: .standard)], cursor: nil, at: .sample)
        let row = try #require(try await store.startNext())
        #expect(row.content.title == "a\u{FFFD}b" && row.content.message == "c\u{FFFD}d")
        #expect(InboxLine(row).json.contains("a\u{FFFD}b"))
    }

    @Test func `a gap that an earlier version stored is read with up to 512 levels`() async throws {
        let more = String(repeating: "[", count: 511) + String(repeating: "]", count: 511)
        let body = #"{"more":\#(more),"after":"e-1","resumesAt":7,"reason":"x"}"#
        let gap = StreamGap(after: "e-1", resumesAt: 7, reason: "x")
        try await store.receive([.gap(gap, body: body, epoch: "e")], cursor: nil, at: .sample)
        let row = try #require(try await store.startNext())
        #expect(InboxLine(row).json.contains(#""resumesAt":7"#))
    }

    @Test func `history is bounded by bytes`() async throws {
        let store = try AgentStore(path: scratch.file("bytes.sqlite"), bounds: .init(settledBytes: 2_500))
        let large = (1...4).map { Arrival.sample($0, title: String(repeating: "x", count: 1_000)) }
        try await store.receive(large, cursor: nil, at: .sample)
        var row = try await store.startNext()
        while let started = row { row = try await store.startNext(settling: .done(started.ordinal)) }
        try await store.purge()
        #expect(try await store.records(last: 9, states: [.done]).map(\.id) == ["m3", "m4"])
    }

    @Test func `the purge does not look at the clock`() async throws {
        try await store.receive([.sample(1)], cursor: nil, at: Timestamp(milliseconds: 0))
        let row = try #require(try await store.startNext())
        try await store.settle(.done(row.ordinal))
        try await store.receive([.sample(2)], cursor: nil, at: Timestamp.sample + .seconds(10 * 365 * 86_400))
        try await store.purge()
        #expect(try await store.records(last: 9, states: InboxRecord.State.allCases).count == 2)
    }

    @Test func `forgetting keeps the inbox and the identity`() async throws {
        try await store.choose(["World"])
        try await store.receive([.sample(1)], cursor: "e-1", at: .sample)
        let before = try await store.record()
        try await store.forget()
        let after = try await store.record()
        #expect(after.categories == nil)
        #expect(after.cursor == nil)
        #expect(after.installation == before.installation)
        #expect(try await store.unsettledCount() == 1)
    }

    @Test func `a service that outlives its subscription stores arrivals, and neither position nor reports`()
        async throws
    {
        try await store.choose(["World"])
        try await store.receive([.sample(1)], cursor: "e-1", at: .sample)
        let ended = try await store.record().generation
        try await store.forget()
        let taken = try await store.receive([.sample(2)], cursor: "e-2", of: ended, at: .sample)
        try await store.receive([], cursor: "e-3", of: ended, at: .sample)
        try await store.setRetired(["World"])
        let record = try await store.record()
        #expect(taken.map(\.id) == ["m2"] && record.cursor == nil && record.retired.isEmpty)
        try await store.choose(["Sports"])
        #expect(try await store.record().cursor == nil)
        // The next subscription has a position of its own, or none yet.
        for own in [nil, "f-1"] {
            try await store.receive([], cursor: own, at: .sample)
            let late = try await store.receive([.sample(own == nil ? 3 : 4)], cursor: "e-4", of: ended, at: .sample)
            #expect(late.count == 1)
            #expect(try await store.record().cursor == own)
        }
    }

    @Test func `a position of the time before a change of the user is not stored after it`() async throws {
        try await store.choose(["World"])
        let ended = try await store.record().generation
        try await store.receive([.sample(1)], cursor: "e-1", of: ended, at: .sample)
        try await store.setUntagged()
        try await store.receive([.sample(2)], cursor: "e-2", of: ended, at: .sample)
        #expect(try await store.record().cursor == nil)
        // Deleting a position that the hub has refused leaves the installation, and its stream, as they are.
        let present = try await store.record().generation
        try await store.forgetCursor()
        try await store.receive([], cursor: "f-1", of: present, at: .sample)
        #expect(try await store.record().cursor == "f-1")
    }

    @Test func `the next row is found by index`() async throws {
        let plan = try await store.pool.read { database in
            try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN \(AgentStore.nextSQL)").map { $0["detail"] as String }
        }
        #expect(plan.count == 1)
        #expect(plan.first?.contains("inbox_unsettled") == true, "\(plan)")
    }
}

extension AgentStore {
    /// From here on nothing that needs a new page fits.
    func fill() async throws {
        try await pool.writeWithoutTransaction { database in
            let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            try database.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
    }

    func empty() async throws {
        try await pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA max_page_count = 1000000") }
    }
}
