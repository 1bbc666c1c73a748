import AppBackend
import Foundation
import GRDB
import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import SQLiteFiles
import Testing
import WebPages

@testable import PageServer

/// How sessions and invitations begin and end.
struct SessionTests {
    private static let noChoice = ReaderChoice(categories: [])

    private let scratch: ScratchFolder
    private let store: PageStore
    private let news: HubName
    private let now: Timestamp = 1_900_000_000_000

    init() throws {
        scratch = try ScratchFolder()
        store = try PageStore(path: scratch.file("pages.sqlite"))
        news = try HubName("news")
    }

    private func begin(
        _ hub: HubName? = nil,
        network: String = "192.0.2.0/24",
        isInvited: Bool = false,
        user: String? = nil,
        at time: Timestamp? = nil
    ) async throws -> SessionSecret {
        let secret = SessionSecret.random()
        _ = try await store.begin(
            secret,
            hub: hub ?? news,
            network: network,
            choice: Self.noChoice,
            isInvited: isInvited,
            user: user.flatMap { UserName($0) },
            at: time ?? now
        )
        return secret
    }

    @Test func `a network begins so many sessions in an hour, and others are not kept out`() async throws {
        for _ in 1...PageStore.maximumNewSessions { _ = try await begin() }
        await #expect(throws: SessionRefusal.tooManyOfNetwork) { try await begin() }
        await #expect(throws: SessionRefusal.tooManyOfNetwork) { try await begin(try HubName("town")) }
        _ = try await begin(network: "192.0.3.0/24")
        await #expect(throws: SessionRefusal.tooManyOfNetwork) { try await begin(at: now + .seconds(3_599)) }
        _ = try await begin(at: now + .seconds(3_600))
    }

    @Test func `a network that has begun too many keeps out no invited reader and no user`() async throws {
        for _ in 1...PageStore.maximumNewSessions { _ = try await begin() }
        _ = try await begin(isInvited: true)
        for _ in 1...PageStore.maximumNewSessions { _ = try await begin(user: "alice") }
        await #expect(throws: SessionRefusal.tooManyOfNetwork) {
            try await begin(network: "192.0.3.0/24", user: "Alice")
        }
        _ = try await begin(user: "bob")
        _ = try await begin(isInvited: true)
    }

    @Test func `a file of the version without languages keeps its sessions, however their hub was spelled`()
        async throws
    {
        let path = scratch.file("old.sqlite")
        let old = try DatabaseQueue(path: path)
        try PageStore.migrator.migrate(old, upTo: "operators")
        let secret = SessionSecret.random()
        try await old.write { db in
            try db.execute(
                sql: """
                    INSERT INTO session (name, secretHash, hub, network, installation, channel, categories, createdAt, seenAt)
                    VALUES (?, ?, 'News', '192.0.2.0/24', 'page-1', ?, '[]', ?, ?)
                    """,
                arguments: [secret.name, Data(secret.digest), PushChannelSecret.random().text, now, now]
            )
        }
        try old.close()
        let store = try PageStore(path: path)
        let session = try await store.session(secret, hub: news, at: now)
        #expect(session != nil)
        let starts = try await store.read { try Int.fetchOne($0.database, sql: "SELECT count(*) FROM sessionStart") }
        #expect(starts == 1)
    }

    @Test func `sessions that have ended count for the network that began them`() async throws {
        for _ in 1...PageStore.maximumNewSessions {
            let secret = try await begin()
            try await store.end(try #require(try await store.session(secret, hub: news, at: now)))
        }
        await #expect(throws: SessionRefusal.tooManyOfNetwork) { try await begin() }
    }

    @Test func `a session changes so often in a minute, and others go on`() async throws {
        try await PagesHub.run(nodes: 1) { hub in
            let (cookie, other) = (try await hub.reader(of: "World"), try await hub.reader(of: "World"))
            var statuses: [Int] = []
            for _ in 1...PageServer.changesPerMinute {
                statuses.append(
                    try await hub.send("POST", "/-/news/categories", cookie: cookie, form: "category=Sports").status
                )
            }
            // The choice that `reader` made was the first change.
            #expect(statuses.dropLast().allSatisfy { $0 == 303 } && statuses.last == 429)
            let refused = try await hub.send("GET", "/-/news/events", cookie: cookie)
            #expect(refused.status == 429 && refused.headers["Retry-After"] != nil)
            let further = try await hub.send("POST", "/-/news/categories", cookie: other, form: "category=Sports")
            #expect(further.status == 303)
        }
    }

    @Test func `who came in through the open door is not invited`() async throws {
        try await PagesHub.run(.public) { hub in
            let reply = try await hub.send("POST", "/-/news/categories", form: "category=World")
            #expect(reply.status == 303)
            let invited = try await hub.store.read {
                try Int.fetchAll($0.database, sql: "SELECT isInvited FROM session")
            }
            #expect(invited == [0])
        }
    }

    @Test func `an entry that fails does not use the invitation up`() async throws {
        try await PagesHub.run { hub in
            let invitation = try await hub.store.invite(to: try HubName("NEWS"), at: hub.clock.now)
            let form = "code=\(invitation.code)"
            let refusal = "CREATE TRIGGER refusal BEFORE INSERT ON session BEGIN SELECT RAISE(ABORT, 'no'); END"
            try await hub.store.write { try $0.database.execute(sql: refusal) }
            let failed = try await hub.send("POST", "/-/news/enter", form: form)
            #expect(failed.status == 500)
            try await hub.store.write { try $0.database.execute(sql: "DROP TRIGGER refusal") }
            let entered = try await hub.send("POST", "/-/news/enter", form: form)
            #expect(entered.status == 303)
            let again = try await hub.send("POST", "/-/news/enter", form: form)
            #expect(again.status == 403)
        }
    }

    @Test func `a hub has so many sessions, and other hubs are not full`() async throws {
        let count = SessionPlaces.all
        let hub = news.text
        try await store.write { db in
            try db.database.execute(
                sql: """
                    WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < ?)
                    INSERT INTO session (name, secretHash, hub, network, installation, channel, categories, createdAt,
                        seenAt) SELECT value, x'00', ?, 'far away', value, 'x', '[]', 0, 1 FROM number
                    """,
                arguments: [count, hub]
            )
        }
        await #expect(throws: SessionRefusal.full) { try await begin() }
        _ = try await begin(try HubName("town"))
        try await store.write { try $0.database.execute(sql: "DELETE FROM session WHERE name = '7'") }
        _ = try await begin()
    }

    @Test func `a session lasts from its last visit on`() async throws {
        let secret = try await begin()
        let almost = now + ReaderSession.lifetime - .milliseconds(1)
        let session = try #require(try await store.session(secret, hub: news, at: almost))
        let position = try #require(StreamPosition(parsing: "e-7"))
        try await store.noteVisit(session, position: position, at: almost)
        let later = try await store.session(secret, hub: news, at: now + ReaderSession.lifetime)
        #expect(later?.position == position)
        let ended = try await store.session(secret, hub: news, at: almost + ReaderSession.lifetime)
        #expect(ended == nil)
        let elsewhere = try await store.session(secret, hub: try HubName("town"), at: now)
        #expect(elsewhere == nil)
    }

    @Test func `an expired session ends with its installation, and others stay`() async throws {
        try await PagesHub.run { hub in
            let old = try await hub.reader(of: "World", "Sports")
            let before = try await hub.sessions()
            let lost = try await hub.reader(of: "World")
            let gone = try #require(try await hub.sessions().keys.first { before[$0] == nil })
            // The hub may have dropped it already.
            try await hub.client.delete(try InstallationID(gone))
            hub.clock.advance(by: ReaderSession.lifetime - .seconds(1))
            let new = try await hub.reader(of: "Politics")
            let all = Set(try await hub.sessions().keys)
            let kept = try #require(all.subtracting(before.keys).subtracting([gone]).first)
            hub.clock.advance(by: .seconds(1))
            try await hub.pages.endExpiredSessions()
            #expect(try await hub.sessions() == [kept: #"["Politics"]"#])
            #expect(try await hub.hasInstallation(kept))
            for id in before.keys { #expect(try await !hub.hasInstallation(id)) }
            for (cookie, status) in [(old, 401), (lost, 401), (new, 200)] {
                let reply = try await hub.send("GET", "/-/news/", cookie: cookie)
                #expect(reply.status == status)
            }
        }
    }

    @Test func `leaving ends the session and its installation at once`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            let id = try #require(try await hub.sessions().keys.first)
            #expect(try await hub.hasInstallation(id))
            let reply = try await hub.send("POST", "/-/news/leave", cookie: cookie)
            #expect(reply.status == 303 && reply.headers["Location"] == "/-/news/")
            #expect(reply.headers["Set-Cookie"]?.hasPrefix("__Host-newswire-news=; Max-Age=0; ") == true)
            #expect(try await hub.sessions().isEmpty)
            #expect(try await !hub.hasInstallation(id))
            let after = try await hub.send("GET", "/-/news/", cookie: cookie)
            #expect(after.status == 401)
        }
    }

    @Test func `a hub's name in other letters is the same hub`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            let reply = try await hub.send("GET", "/-/NEWS/session", cookie: cookie)
            #expect(reply.status == 308 && reply.headers["Location"] == "/-/news/session")
            let form = "category=World"
            let chosen = try await hub.send("POST", "/-/NEWS/categories", cookie: cookie, form: form)
            #expect(chosen.status == 303 && chosen.headers["Location"] == "/-/news/")
        }
    }

    @Test func `expired sessions of a hub that was deleted end, too`() async throws {
        try await PagesHub.run { hub in
            let (store, gone) = (hub.pages.store, try HubName("gone"))
            _ = try await store.begin(
                SessionSecret.random(),
                hub: gone,
                network: "192.0.2.0/24",
                choice: Self.noChoice,
                isInvited: true,
                at: hub.pages.clock.now()
            )
            try await hub.pages.endExpiredSessions()
            let before = try await store.hubNames()
            hub.clock.advance(by: ReaderSession.lifetime)
            try await hub.pages.endExpiredSessions()
            let after = try await store.hubNames()
            #expect(before == [gone] && after.isEmpty)
        }
    }

    @Test func `another hub of the same name has none of the sessions and links`() async throws {
        let created = now - .seconds(86_400)
        let operators = try await store.inviteOperator(of: news, at: now)
        let used = SessionSecret.random()
        func isOperator() async throws -> Bool { try await store.operatorSession(used, hub: news, at: now) != nil }
        _ = try await store.beginOperatorSession(with: operators.code, used, from: "::1", hub: news, at: now)
        let (secret, other) = (try await begin(), try await begin(try HubName("town")))
        let old = try await store.invite(to: news, at: now - .seconds(1)).code
        let oldLink = try await store.inviteOperator(of: news, at: now - .seconds(1)).code
        // A file of an earlier version, and a restart.
        for _ in 1...2 { try await store.note(news, createdAt: created) }
        let kept = try await store.session(secret, hub: news, at: now)
        #expect(kept != nil)
        let (isKept, isUsable) = (try await isOperator(), try await store.isUsable(old, hub: news, at: now))
        #expect(isKept && isUsable)

        let new = try await store.invite(to: news, at: now).code
        try await store.note(try HubName("NEWS"), createdAt: now)
        // A visit that began before.
        let visited = try #require(kept)
        try await store.noteVisit(visited, position: StreamPosition(epoch: "e", sequence: 1), at: now)
        let ended = try await store.session(secret, hub: news, at: now)
        #expect(ended == nil)
        let isEntered = try await isOperator()
        #expect(!isEntered)
        let elsewhere = try await store.session(other, hub: try HubName("town"), at: now)
        #expect(elsewhere != nil)
        let (isOld, isNew) = (
            try await store.isUsable(old, hub: news, at: now), try await store.isUsable(new, hub: news, at: now)
        )
        #expect(!isOld && isNew)
        let late = try await store.beginOperatorSession(with: oldLink, .random(), from: "::1", hub: news, at: now)
        #expect(late == nil)
        // The hourly round takes what they have registered.
        let expired = try await store.expired(hub: news, at: now, limit: 10)
        #expect(expired.map(\.id) == [kept?.id])
    }

    @Test func `a session of a hub that was deleted does not open its successor`() async throws {
        try await PagesHub.run { hub in
            let cookie = try await hub.reader(of: "World")
            let before = try await hub.send("GET", "/-/news/session", cookie: cookie)
            #expect(before.status == 204)
            // As if the hub of this name had been made at another time.
            try await hub.store.note(try HubName("news"), createdAt: hub.clock.now)
            let after = try await hub.send("GET", "/-/news/session", cookie: cookie)
            #expect(after.status == 401)
            try await hub.pages.endExpiredSessions()
            #expect(try await hub.sessions().isEmpty)
        }
    }

    @Test func `an invitation is for one use, one hub and seven days`() async throws {
        let town = try HubName("town")
        let first = try await store.invite(to: news, at: now)
        let second = try await store.invite(to: news, at: now)
        #expect(first.code != second.code)
        let end = now + Invitation.lifetime
        for (label, code, hub, time, isGood) in [
            ("another hub", first.code, town, now, false), ("in time", first.code, news, end - .milliseconds(1), true),
            ("again", first.code, news, now, false), ("too late", second.code, news, end, false),
            ("empty", "", news, now, false), ("made up", SessionSecret.random().text, news, now, false),
            ("no secret", String(second.code.prefix(32)), news, now, false),
            ("the other", second.code, news, now, true),
        ] {
            let used = try await store.use(code, hub: hub, at: time)
            #expect(used == isGood, "\(label)")
        }
    }

    @Test func `of many who use one invitation at the same time one gets in`() async throws {
        let (store, news, now) = (store, news, now)
        let code = try await store.invite(to: news, at: now).code
        let entered = try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 1...20 { group.addTask { try await store.use(code, hub: news, at: now) } }
            return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
        }
        #expect(entered == 1)
    }

    @Test func `the file has no secret of a session or an invitation`() async throws {
        let secret = try await begin()
        let invitation = try await store.invite(to: news, at: now)
        let code = try #require(SessionSecret(invitation.code))
        for table in ["session", "invitation"] {
            let rows = try await store.read {
                try Row.fetchAll($0.database, sql: "SELECT * FROM \(table)").map(\.description)
            }
            #expect(rows.count == 1)
            #expect(!rows.joined().contains(secret.secret) && !rows.joined().contains(code.secret))
        }
    }

    @Test func `a network that has begun too many reads on, and learns when to come back`() async throws {
        try await PagesHub.run(.public, nodes: 1) { hub in
            let cookie = try await hub.reader(of: "World")
            try await hub.store.write { db in
                try db.database.execute(
                    sql: """
                        WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < ?)
                        INSERT INTO sessionStart (network, at)
                            SELECT network, createdAt FROM number, session WHERE length(name) = 32
                        """,
                    arguments: [PageStore.maximumNewSessions]
                )
            }
            let refused = try await hub.send("POST", "/-/news/categories", form: "category=World")
            #expect(refused.status == 429 && refused.headers["Set-Cookie"] == nil, "\(refused.status)")
            let kept = try await hub.send("POST", "/-/news/categories", cookie: cookie, form: "category=Sports")
            #expect(kept.status == 303)
            let visit = try await hub.send("GET", "/-/news/")
            #expect(visit.status == 200)
            hub.clock.advance(by: .seconds(3_601))
            let later = try await hub.send("POST", "/-/news/categories", form: "category=World")
            #expect(later.status == 303 && later.headers["Set-Cookie"] != nil)
        }
    }
}
