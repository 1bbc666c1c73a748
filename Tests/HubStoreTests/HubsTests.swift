import Foundation
import GRDB
import HubProtocol
import HubRouting
import Testing

@testable import HubStore

struct HubsTests {
    private static let description = NotificationHubDescription(
        registrationTimeToLive: RegistrationTimeToLive(units: 864_000_000_001),
        credentials: [
            PlatformCredential(
                .gcm,
                [.init(name: "GoogleApiKey", value: "k"), .init(name: "GcmEndpoint", value: "e")]
            ),
            PlatformCredential(.mpns, []),
        ],
        rules: ["z", "a"].enumerated().map { index, name in
            AuthorizationRule(
                AccessRule(name: name, primaryKey: "p\(name)", secondaryKey: "s\(name)", rights: .send),
                createdAt: Timestamp(milliseconds: Int64(index)),
                modifiedAt: Timestamp(milliseconds: Int64(index) + 10)
            )
        },
        userMetadata: "über < alles",
        isDisabled: false
    )

    @Test func `all that is said of a hub is kept, in its order`() async throws {
        let scratch = try Scratch()
        var (store, _) = try await scratch.store()
        let name = try HubName("Other")
        let made = try await store.change { try $0.insertHub(name, Self.description, at: 5) }
        #expect(made.description == Self.description)
        #expect(try await store.hub(id: made.record.id) == made)
        var changed = made
        changed.description = NotificationHubDescription(rules: [Self.description.rules[1]])
        changed.updatedAt = Timestamp(milliseconds: 9)
        let wanted = changed
        try await store.change { try $0.update(wanted) }
        try store.close()
        (store, _) = try await scratch.store()
        let hubs = try await store.storedHubs()
        #expect(hubs.map(\.record.name.text) == ["news", "Other"])
        #expect(hubs[1] == wanted)
        #expect(hubs[1].createdAt.milliseconds == 5)
        #expect(try await store.allAccessRules().hubs[made.record.id]?.map(\.name) == ["a"])
    }

    @Test func `a rule is set alone, behind the others or in its place`() async throws {
        let (store, _) = try await Scratch().store()
        let name = try HubName("other")
        let hub = try await store.change { try $0.insertHub(name, Self.description, at: 5) }.record.id
        let new = AccessRule(name: "b", primaryKey: "1", secondaryKey: "2", rights: .listen)
        let changed = AccessRule(name: "z", primaryKey: "3", secondaryKey: "4", rights: .listen)
        try await store.change {
            try $0.put(new, hub: hub, at: 70)
            try $0.put(changed, hub: hub, at: 80)
        }
        func rule(_ rule: AccessRule, _ createdAt: Timestamp, _ modifiedAt: Timestamp) -> AuthorizationRule {
            AuthorizationRule(rule, createdAt: createdAt, modifiedAt: modifiedAt)
        }
        let rules = try await store.hub(id: hub)?.description.rules
        #expect(
            rules == [
                rule(changed, 0, 80), Self.description.rules[1], rule(new, 70, 70),
            ]
        )
    }

    @Test func `a deleted hub's name is free and its keys are gone at once`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let namespace = AccessRule.generated(name: AccessRule.rootName, rights: .manage)
        try await store.change {
            try $0.putNamespaceRule(namespace, at: 1)
            try $0.deleteHub(id: hub, at: 7)
        }
        #expect(try await store.hubs().isEmpty)
        #expect(try await store.storedHubs().isEmpty)
        #expect(try await store.hub(id: hub) == nil)
        #expect(try await store.hubsToPurge() == [hub])
        #expect(try await store.allAccessRules() == AllAccessRules(hubs: [:], namespace: [namespace]))
        let name = try HubName("NEWS")
        let again = try await store.change { try $0.insertHub(name, rules: [], at: 8) }
        #expect(again.id != hub)
        #expect(try await store.change { (try $0.hubCount(), try $0.hasHub(named: HubName("news"))) } == (1, true))
    }

    @Test func `nothing of a deleted hub is left, little goes at once, and others keep all`() async throws {
        let scratch = try Scratch()
        let (store, kept) = try await scratch.store()
        let name = try HubName("other")
        let gone = try await store.change { try $0.insertHub(name, Self.description, at: 5) }.record.id
        for hub in [kept, gone] { try await fill(store, hub) }
        let before = try await scratch.counts()
        let bytes = try await store.logSize().bytes
        try await store.change { try $0.deleteHub(id: gone, at: 9) }
        var chunks = 0
        var most = 0
        while try await store.change({ try $0.purge(hub: gone, limit: 2, at: 10) }) == false {
            let counts = try await scratch.counts()
            most = max(most, counts.reduce(0) { $0 + $1.value.count(of: gone) })
            chunks += 1
            #expect(chunks < 100)
        }
        #expect(chunks > 10, "two rows of a table at a time")
        #expect(most > 0)
        let after = try await scratch.counts()
        for (table, counts) in after where table != "hub" {
            #expect(counts[gone] == nil, "\(table)")
            #expect(counts[kept] == before[table]?[kept], "\(table)")
        }
        #expect(try await store.hubsToPurge().isEmpty)
        #expect(try await store.logSize().bytes * 2 == bytes, "what is gone counts no more")
        let left = try await scratch.read { db in
            try Int.fetchOne(
                db,
                sql: "SELECT count(*) FROM owed WHERE ordinal NOT IN (SELECT ordinal FROM installation)"
            )
        }
        #expect(left == 0)
        // The count of the log goes on from what is left.
        let dropped = try await store.change { try $0.dropOldest(expiredBefore: nil, maximumBytes: 1 << 20, limit: 9) }
        #expect(dropped.bytesLeft * 2 == bytes)
    }

    @Test func `every table with rows of a hub is one that a deletion clears, by an index`() async throws {
        let scratch = try Scratch()
        _ = try await scratch.store()
        let tables = try await scratch.read { db in
            let names = try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
            return try names.filter { name in
                try db.columns(in: name).contains { $0.name == "hubID" } && name != "hub"
            }
        }
        // These go with their messages, and figures when a node next drops old ones of its own.
        let dependent: Set = ["delivery", "deliveryFailure", "deliveryRetry", "figure"]
        #expect(Set(tables) == Set(HubPurge.steps.map(\.table)).union(dependent))
        for step in HubPurge.steps {
            let plan = try await scratch.read { db in
                let statement = try db.makeStatement(sql: "EXPLAIN QUERY PLAN " + step.delete)
                statement.setUncheckedArguments(StatementArguments())
                return try Row.fetchAll(statement).map { $0["detail"] as String }
            }
            #expect(!plan.contains { $0.hasPrefix("SCAN") || $0.contains("TEMP B-TREE") }, "\(step.table): \(plan)")
        }
    }

    @Test func `figures of a deleted hub are dropped, and those that are too old`() async throws {
        let (store, hub) = try await Scratch().store()
        let name = try HubName("deleted")
        let deleted = try await store.change { try $0.insertHub(name, rules: [], at: 0) }.id
        let now = Timestamp(milliseconds: 100 * 86_400_000)
        try await store.change { transaction in
            for key in [hub, deleted] {
                for at in [now, now - .seconds(4 * 86_400), now - .seconds(91 * 86_400)] {
                    try transaction.add(HubFigures(), hub: key, at: at)
                }
            }
            try transaction.deleteHub(id: deleted, at: now)
            try transaction.dropFigures(at: now)
        }
        #expect(try await store.figures(hub: deleted, .hour, since: .distantPast).isEmpty)
        #expect(try await store.figures(hub: hub, .minute, since: .distantPast).map(\.at) == [now])
        #expect(try await store.figures(hub: hub, .hour, since: .distantPast).count == 2)
    }

    /// A row of each table, and several where a table may have many.
    private func fill(_ store: HubStore, _ hub: HubKey) async throws {
        let installation = try Installation.agent("a\(hub)", tags: ["World"])
        let changed = try Installation.agent("a\(hub)", tags: ["Sports"])
        let registrations = (0..<3).map { number in
            Registration(id: .random(), platform: .apns, pushChannel: .handle("ab\(number)"))
        }
        try await store.change { transaction in
            let first = try transaction.insert(installation, channelDigest: [1], hub: hub, at: 1)
            for number in 0..<5 {
                let id = MessageID.random()
                let record = try MessageRecord(id: id, tags: "T", body: Array("{}".utf8))
                _ = try transaction.appendMessage(record, hub: hub, at: 1)
                let later = try MessageRecord(id: .random(), tags: "T", body: Array("{}".utf8))
                try transaction.schedule(later, hub: hub, dueAt: Timestamp(milliseconds: Int64(number)), at: 1)
                try transaction.recordKey("k\(number)", hub: hub, message: id, contentHash: [2], at: 1)
            }
            _ = try transaction.update(first.stored, to: changed, channelDigest: [1], hub: hub, at: 2)
            for registration in registrations {
                let stored = try transaction.put(registration, replacing: nil, hub: hub, at: 1).stored
                let record = try MessageRecord(id: .random(), tags: nil, body: Array("{}".utf8))
                _ = try transaction.appendMessage(record, hub: hub, at: 1)
                _ = try transaction.delete(stored, tombstone: true, hub: hub, at: 1)
            }
            _ = try transaction.put(registrations[0], replacing: nil, hub: hub, at: 1)
            for due in try transaction.dueMessages(hub: hub, at: 9, limit: 2) {
                try transaction.cancel(due, hub: hub, at: 2)
            }
            try transaction.setCategories(["x", "y", "z"], publisher: "p", hub: hub)
            for _ in 1...3 {
                _ = try transaction.add(PublisherRequest(.poll, url: "u"), publisher: "p", hub: hub, at: 1)
            }
            try transaction.setAlarmState("{}", hub: hub)
            try transaction.note(StreamProgress(ordinal: first.stored.ordinal, written: 1))
        }
    }
}

extension [HubKey: Int] {
    fileprivate func count(of hub: HubKey) -> Int { self[hub] ?? 0 }
}

extension Scratch {
    /// Rows of each hub in each table.
    fileprivate func counts() async throws -> [String: [HubKey: Int]] {
        try await read { db in
            var counts: [String: [HubKey: Int]] = [:]
            for table in try String.fetchAll(db, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
            where try db.columns(in: table).contains(where: { $0.name == "hubID" }) {
                let rows = try Row.fetchAll(db, sql: "SELECT hubID, count(*) FROM \(table) GROUP BY hubID")
                counts[table] = Dictionary(uniqueKeysWithValues: rows.map { ($0[0], $0[1]) })
            }
            return counts
        }
    }
}

struct RegistrationListTests {
    @Test func `ids that have ended are remembered for a time, and only so many`() async throws {
        let (store, hub) = try await Scratch().store()
        let registrations = try (1...9).map { number in
            Registration(id: try RegistrationID("\(number)-1-1"), platform: .apns, pushChannel: .handle("ab"))
        }
        func remembered() async throws -> [String] {
            try await store.change { transaction in
                try registrations.map(\.id).filter { try transaction.hasEnded(hub: hub, id: $0) }
                    .map { "\($0.text.prefix(1))" }
            }
        }
        try await store.change { transaction in
            for (index, registration) in registrations.enumerated() {
                let stored = try transaction.put(registration, replacing: nil, hub: hub, at: 1).stored
                _ = try transaction.delete(
                    stored,
                    tombstone: true,
                    hub: hub,
                    at: Timestamp(milliseconds: Int64(index + 1))
                )
            }
        }
        try await store.change { try $0.dropTombstones(notedBefore: 3) }
        #expect(try await remembered() == ["3", "4", "5", "6", "7", "8", "9"])
        try await store.change { try $0.dropTombstones(notedBefore: 3, limit: 3) }
        #expect(try await remembered() == ["7", "8", "9"])
        try await store.change { try $0.revive(registrations[8].id, hub: hub) }
        #expect(try await remembered() == ["7", "8"])
    }

    @Test func `a registration that cannot be shown does not end the list`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let registrations = try (1...4).map { number in
            Registration(id: try RegistrationID("\(number)-1-1"), platform: .apns, pushChannel: .handle("ab"))
        }
        let phone = Installation(id: try InstallationID("p"), platform: .apns, pushChannel: .handle("cd"))
        try await store.change { transaction in
            for registration in registrations { _ = try transaction.put(registration, replacing: nil, hub: hub, at: 1) }
            _ = try transaction.insert(phone, channelDigest: nil, hub: hub, at: 1)
        }
        let queue = try DatabaseQueue(path: scratch.path)
        try await queue.write { db in
            try db.execute(sql: "UPDATE installation SET record = x'00'")
            try db.execute(sql: "UPDATE registration SET registrationID = '2-0-0' WHERE installation IS NOT NULL")
        }
        try queue.close()
        var ids: [String] = []
        var after: String?
        repeat {
            let page = try await store.registrations(hub: hub, after: after, limit: 2)
            ids += page.registrations.map(\.registration.id.text)
            after = page.next
        } while after != nil && ids.count < 9
        #expect(ids == registrations.map(\.id.text))
    }
}
