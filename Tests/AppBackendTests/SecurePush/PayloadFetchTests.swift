import Foundation
import GRDB
import HTTPTypes
import HubClient
import HubProtocol
import HubTestServer
import NetworkAddresses
import OutboundHTTP
import SQLiteFiles
import Testing

@testable import AppBackend

/// Who gets a payload, for how long, and how.
@Suite struct PayloadFetchTests {
    private func put(_ backend: TestBackend, _ text: String, for name: String) async throws -> Int64 {
        let user = try #require(UserName(name))
        return try await backend.backend.payloads.put(text, for: user, from: user)
    }

    @Test func `an id that is 0, unknown, another's or no number gives one and the same refusal`() async throws {
        try await TestBackend.run { backend, _ in
            let foreign = try await put(backend, "x", for: "ann")
            let own = try await put(backend, "y", for: "bob")
            let unknown = own == 1 ? 2 : own - 1
            var replies: Set<String> = []
            for id in ["0", "\(unknown)", "\(foreign)", "-1", "2147483648", "99999999999999999999", "abc", "1%202"] {
                let reply = try await backend.send("GET", "/api/notifications/\(id)", as: "bob")
                let fields = reply.headers["Content-Type"] ?? ""
                replies.insert("\(reply.status) \(fields) \(reply.body)")
            }
            #expect(replies.count == 1 && replies.first?.hasPrefix("404 ") == true, "\(replies)")
            let reply = try await backend.send("GET", "/api/notifications/\(own)", as: "BOB")
            #expect(reply.body == #"{"Id":\#(own),"Payload":"y","Read":false}"#)
            #expect(reply.headers["Cache-Control"] == "no-store")
            let taken = try await backend.send("GET", "/api/notifications/\(foreign)", as: "ann")
            #expect(taken.body.contains(#""Read":false"#), "others' attempts are no reading")
        }
    }

    @Test func `a sender with too many payloads has to wait, and nobody else`() async throws {
        let store = try SignInBench().store
        let now = Timestamp(milliseconds: 1_000_000)
        let bounds = PayloadBounds(waiting: 10, ofSender: 2, total: 10)
        var places: [PayloadPlace] = []
        for (sender, addressee, age) in [
            ("ann", "bob", 0), ("ann", "cat", 5), ("ann", "dan", 6), ("bob", "dan", 6), ("ann", "dan", 61),
        ] {
            let at = now + .seconds(age)
            let place = try await store.changePayloads { table in
                try table.insert(
                    for: addressee,
                    from: sender,
                    within: bounds,
                    now: at,
                    expiresAt: at + .seconds(60)
                ) { _ in Data([1]) }
            }
            places.append(place)
        }
        let isStored = places.map { if case .stored = $0 { true } else { false } }
        #expect(isStored == [true, true, false, true, true])
        #expect(places[2] == .senderIsFull(until: now + .seconds(60)))
    }

    @Test func `who asks for too many that do not exist has to wait, and nobody else`() async throws {
        let clock = TestClock()
        try await TestBackend.run {
            $0.clock = clock.backend
        } _: { backend, _ in
            let (bobs, anns) = (try await put(backend, "x", for: "bob"), try await put(backend, "y", for: "ann"))
            for _ in 0..<SecurePayloads.missesLimit {
                #expect(try await backend.send("GET", "/api/notifications/0", as: "bob").status == 404)
            }
            for id in [0, bobs, anns] {
                let reply = try await backend.send("GET", "/api/notifications/\(id)", as: "bob")
                #expect(reply.status == 429 && reply.headers["Retry-After"] == "60")
            }
            #expect(try await backend.send("GET", "/api/notifications/\(anns)", as: "ann").status == 200)
            clock.advance(by: .seconds(60))
            for _ in 0..<(2 * SecurePayloads.missesLimit) {
                #expect(try await backend.send("GET", "/api/notifications/\(bobs)", as: "bob").status == 200)
            }
        }
    }

    @Test func `a payload is there for three days`() async throws {
        let clock = TestClock()
        try await TestBackend.run {
            $0.clock = clock.backend
        } _: { backend, _ in
            let id = try await put(backend, "x", for: "bob")
            clock.advance(by: SecurePayloads.lifetime - .milliseconds(1))
            #expect(try await backend.send("GET", "/api/notifications/\(id)", as: "bob").status == 200)
            clock.advance(by: .milliseconds(1))
            #expect(try await backend.send("GET", "/api/notifications/\(id)", as: "bob").status == 404)
            let now = clock.backend.now()
            try await backend.store.changePayloads { try $0.deleteExpired(by: now) }
            let left = try await backend.store.read {
                try Int.fetchOne($0.database, sql: "SELECT count(*) FROM payload")
            }
            #expect(left == 0)
        }
    }

    @Test func `a payload can be read while the disk is full`() async throws {
        let (scratch, log) = (try ScratchFolder(), LogLines())
        try await TestHub.run { hub in
            try await TestBackend.run(hub.client, store: scratch.file("b.sqlite"), logger: log.logger) { backend in
                let id = try await put(backend, "x", for: "bob")
                try await backend.store.write { db in
                    // Marking a payload as read takes space that there is not.
                    try db.database.execute(
                        sql: """
                            CREATE TABLE filler (bytes BLOB);
                            CREATE TRIGGER fill AFTER UPDATE ON payload
                            BEGIN INSERT INTO filler VALUES (zeroblob(1000000)); END;
                            """
                    )
                    let pages = try Int.fetchOne(db.database, sql: "PRAGMA page_count") ?? 0
                    try db.database.execute(sql: "PRAGMA max_page_count = \(pages)")
                }
                for _ in 0..<2 {
                    let reply = try await backend.send("GET", "/api/notifications/\(id)", as: "bob")
                    #expect(reply.body == #"{"Id":\#(id),"Payload":"x","Read":false}"#)
                }
                let warnings = log.all.filter { $0.contains("cannot mark fetched payloads as read") }
                #expect(warnings.count == 1 && warnings.first?.contains("the disk is full") == true, "\(log.all)")
                try await backend.store.write { try $0.database.execute(sql: "PRAGMA max_page_count = 1000000") }
                for isRead in [false, true] {
                    let reply = try await backend.send("GET", "/api/notifications/\(id)", as: "bob")
                    #expect(reply.body.contains(#""Read":\#(isRead)"#))
                }
            }
        }
    }

    @Test func `of two devices that fetch at once one is the first`() async throws {
        try await TestBackend.run { backend, _ in
            let id = try await put(backend, "x", for: "bob")
            let replies = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await backend.send("GET", "/api/notifications/\(id)", as: "bob").body }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(replies.count { $0.contains(#""Read":false"#) } == 1)
            #expect(replies.count { $0.contains(#""Read":true"#) } == 7)
        }
    }

    @Test func `every fetch is audited, with what it found and without the text`() async throws {
        try await TestBackend.run { backend, _ in
            let id = try await put(backend, "needle", for: "bob")
            for id in [id, id, 0] { _ = try await backend.send("GET", "/api/notifications/\(id)", as: "bob") }
            await backend.backend.audit.flush()
            let events = try await Accounts(store: backend.store).audit(limit: 100)
            let fetches = events.filter { $0.what == "payload fetched" }
            #expect(
                Set(fetches.map { "\($0.who ?? "") \($0.outcome) \($0.count)" }) == ["bob done 2", "bob refused 1"]
            )
            #expect(!events.contains { "\($0)".contains("needle") })
        }
    }

    @Test(
        arguments: [
            ("203.0.113.5", "http", 403), ("203.0.113.5", "https", 200), ("203.0.113.5", "HTTPS", 200),
            ("127.0.0.1", "http", 200), ("203.0.113.5", "https, http", 403),
            // A proxy that does not say how it was called.
            ("203.0.113.5", nil, 403), ("127.0.0.1", nil, 200),
        ] as [(String, String?, Int)]
    )
    func `behind a trusted proxy the client's own way counts`(client: String, scheme: String?, status: Int) async throws
    {
        let loopback = try #require(AddressBlock("127.0.0.0/8"))
        try await TestBackend.run {
            $0.trustedProxies = TrustedProxies([loopback])
        } _: { backend, _ in
            let id = try await put(backend, "x", for: "bob")
            let headers = [("X-Forwarded-For", client)] + (scheme.map { [("X-Forwarded-Proto", $0)] } ?? [])
            var reply = try await backend.send("GET", "/api/notifications/\(id)", as: "bob", headers: headers)
            #expect(reply.status == status, "\(reply.body)")
            reply = try await backend.send("GET", "/api/notifications/0", as: "bob", headers: headers)
            #expect(reply.status == (status == 200 ? 404 : 403))
        }
    }

    // MARK: - Bounds

    @Test func `payloads have a size, and a number that wait for a user`() async throws {
        try await TestBackend.run {
            $0.payloadBounds = PayloadBounds(waiting: 3, total: 5)
        } _: { backend, _ in
            let largest = String(repeating: "x", count: SecurePayloads.maximumBytes)
            let first = try await put(backend, largest, for: "bob")
            let tooLarge = await #expect(throws: BackendRefusal.self) {
                try await put(backend, largest + "x", for: "bob")
            }
            #expect(tooLarge?.status.code == 413)
            for _ in 0..<2 { _ = try await put(backend, "x", for: "bob") }
            let full = await #expect(throws: BackendRefusal.self) { try await put(backend, "x", for: "bob") }
            #expect(full?.status.code == 429)
            // What was fetched makes room, and no more than is needed.
            #expect(try await backend.send("GET", "/api/notifications/\(first)", as: "bob").status == 200)
            let next = try await put(backend, "z", for: "bob")
            #expect(try await backend.send("GET", "/api/notifications/\(first)", as: "bob").status == 404)
            #expect(try await backend.send("GET", "/api/notifications/\(next)", as: "bob").status == 200)
            for name in ["ann", "nobody"] { _ = try await put(backend, "x", for: name) }
            let none = await #expect(throws: BackendRefusal.self) { try await put(backend, "x", for: "cat") }
            #expect(none?.status.code == 503)
        }
    }

    @Test func `removing a user removes what waits for them`() async throws {
        try await TestBackend.run { backend, _ in
            let id = try await put(backend, "x", for: "bob")
            let bob = try #require(UserName("bob"))
            try await Accounts(store: backend.store).remove(bob)
            let left = try await backend.store.readPayloads { try $0.payload(id, of: "bob", now: 0) }
            #expect(left == nil)
        }
    }

    @Test func `what is done for each request goes through no table`() async throws {
        let scratch = try ScratchFolder()
        let store = try BackendStore(path: scratch.file("b.sqlite"))
        try await QueryPlans.check(store) { db in
            let table = PayloadTable(db: db)
            for _ in 0..<2 {
                let place = try table.insert(
                    for: "bob",
                    from: "ann",
                    within: PayloadBounds(waiting: 1),
                    now: 0,
                    expiresAt: 9
                ) { _ in Data([1]) }
                guard case .stored(let id) = place else { continue }
                #expect(PayloadTable.ids.contains(id))
                _ = try table.payload(id, of: "bob", now: 0)
                #expect(try table.markRead(id, of: "bob"))
                #expect(try !table.markRead(id, of: "bob"))
                try table.delete(0, of: "bob")
            }
            try table.deleteExpired(by: 1)
            try table.deleteAll(of: "bob")
        }
    }
}
