import AppBackend
import FairShares
import Foundation
import GRDB
import HubProtocol
import HubServer
import HubTestServer
import NetworkAddresses
import OutboundHTTP
import SQLiteFiles
import Testing
import WebPages

@testable import PageServer

/// Readers who find a place although others have taken all they could get.
struct SessionShareTests {
    private let scratch: ScratchFolder
    private let store: PageStore
    private let news: HubName
    private let now: Timestamp = 1_900_000_000_000

    init() throws {
        scratch = try ScratchFolder()
        store = try PageStore(path: scratch.file("pages.sqlite"))
        news = try HubName("news")
    }

    /// Adds sessions of guests; `network` is an SQL expression of `value`, their number.
    private static func fill(
        _ store: PageStore,
        _ count: Int,
        network: String = "'10.0.' || (value % 200) || '.0/24'",
        returned: Bool = false,
        isInvited: Bool = false
    ) async throws {
        let prefix = UUID().uuidString
        try await store.write { db in
            try db.database.execute(
                sql: """
                    WITH RECURSIVE number (value) AS (SELECT 1 UNION ALL SELECT value + 1 FROM number WHERE value < ?)
                    INSERT INTO session (name, secretHash, hub, network, installation, channel, categories, position,
                        isInvited, createdAt, seenAt)
                    SELECT ? || value, x'00', 'news', \(network), 'page-' || value, ?, '[]', ?, ?, 1, value FROM number
                    """,
                arguments: [
                    count, prefix, PushChannelSecret.random().text, returned ? "e-1" : nil, isInvited,
                ]
            )
        }
    }

    private func begin(
        _ network: String,
        isInvited: Bool = false,
        user: String? = nil
    ) async throws -> (begun: ReaderSession, ended: ReaderSession?) {
        try await store.begin(
            .random(),
            hub: news,
            network: network,
            choice: ReaderChoice(categories: []),
            isInvited: isInvited,
            user: user.flatMap { UserName($0) },
            at: now
        )
    }

    private func network(of session: ReaderSession) async throws -> String? {
        let sql = "SELECT network FROM session WHERE sessionID = ?"
        return try await store.read { try String.fetchOne($0.database, sql: sql, arguments: [session.id]) }
    }

    private func isAlive(_ session: ReaderSession) async throws -> Bool {
        let sql = "SELECT seenAt > 0 FROM session WHERE sessionID = ?"
        return try await store.read { try Bool.fetchOne($0.database, sql: sql, arguments: [session.id]) } == true
    }

    @Test func `guests of 200 networks that fill all places make room for another, and it keeps its place`()
        async throws
    {
        try await Self.fill(store, SessionPlaces.ofNewGuests)
        let reader = try await begin("192.0.2.0/24")
        let ended = try #require(reader.ended)
        #expect(try await network(of: ended)?.hasPrefix("10.0.") == true)
        #expect(try await !isAlive(ended))
        for number in 0..<400 {
            let attacker = try await begin("10.0.\(number % 200).0/24")
            #expect(attacker.ended != nil)
        }
        #expect(try await isAlive(reader.begun))
    }

    @Test func `the networks of one client are counted together`() async throws {
        let network = "printf('2001:db8:1:%x::/64', value)"
        try await Self.fill(store, SessionPlaces.ofNewGuests - 500, network: network)
        try await Self.fill(store, 500, network: "'10.0.0.0/24'")
        let reader = try await begin("10.0.0.0/24")
        #expect(try await self.network(of: #require(reader.ended))?.hasPrefix("2001:db8:1:") == true)
    }

    @Test func `sessions whose browsers never came back end first, and those of invited readers and users never`()
        async throws
    {
        try await Self.fill(store, 5_000)
        try await Self.fill(store, SessionPlaces.ofGuests - 5_000, network: "'172.16.0.0/24'", returned: true)
        try await Self.fill(store, SessionPlaces.all - SessionPlaces.ofGuests, isInvited: true)
        for (network, isInvited, user) in [
            ("192.0.2.0/24", false, nil), ("192.0.3.0/24", true, nil), ("192.0.4.0/24", false, "alice"),
        ] as [(String, Bool, String?)] {
            let ended = try #require(try await begin(network, isInvited: isInvited, user: user).ended)
            #expect(ended.position == nil && !ended.isInvited && ended.user == nil)
        }
        // As soon as hardly any are left that have just begun, those with most that have come back end.
        try await store.write { db in
            try db.database.execute(sql: "DELETE FROM session WHERE position IS NULL AND isInvited = 0")
        }
        try await Self.fill(store, 5_000, network: "'172.17.' || (value % 250) || '.0/24'", returned: true)
        let ended = try #require(try await begin("192.0.5.0/24").ended)
        #expect(try await network(of: ended) == "172.16.0.0/24")
    }

    @Test func `without guests all places are those of invited readers and users`() async throws {
        try await Self.fill(store, SessionPlaces.all, isInvited: true)
        await #expect(throws: SessionRefusal.full) { try await begin("192.0.2.0/24") }
        await #expect(throws: SessionRefusal.full) { try await begin("192.0.2.0/24", isInvited: true) }
    }

    @Test(arguments: ["'127.0.0.0/24'", "'::/64'", "'local'"])
    func `guests who cannot be distinguished keep each other out, and nobody else`(network: String) async throws {
        try await Self.fill(store, SessionPlaces.ofNewGuests, network: network)
        await #expect(throws: SessionRefusal.full) { try await begin("127.0.0.0/24") }
        #expect(try await begin("192.0.2.0/24").ended != nil)
        #expect(try await begin("127.0.0.0/24", isInvited: true).ended == nil)
        #expect(try await begin("127.0.0.0/24", user: "alice").ended == nil)
    }

    @Test func `a session that makes room ends with its installation, and its browser can begin again`() async throws {
        let proxies = try #require(AddressBlock("127.0.0.1"))
        try await PagesHub.run(.public, users: ["alice"], nodes: 1) {
            $0.trustedProxies = [proxies]
        } _: { hub in
            func choose(from address: String, cookie: String? = nil) async throws -> Reply {
                let headers = [("Sec-Fetch-Site", "same-origin"), ("X-Forwarded-For", address)]
                return try await hub.send(
                    "POST",
                    "/-/news/categories",
                    cookie: cookie,
                    headers: headers,
                    form: "category=World"
                )
            }
            let first = try await choose(from: "10.0.7.1")
            let id = try #require(try await hub.sessions().keys.first)
            #expect(first.status == 303)
            #expect(try await hub.hasInstallation(id))
            try await Self.fill(hub.store, SessionPlaces.ofNewGuests - 1, network: "'10.0.7.0/24'")
            try await hub.store.write { db in
                try db.database.execute(sql: "UPDATE session SET seenAt = seenAt + ?", arguments: [hub.clock.now])
                try db.database.execute(sql: "UPDATE session SET seenAt = 1 WHERE installation = ?", arguments: [id])
            }
            let second = try await choose(from: "2001:db8::1")
            #expect(second.status == 303, "\(second.body)")
            #expect(try await !hub.hasInstallation(id))
            let all = try await hub.sessions()
            #expect(all[id] == nil && all.count == SessionPlaces.ofNewGuests)
            let cookie = String(try #require(first.headers["Set-Cookie"]).prefix { $0 != ";" })
            let again = try await choose(from: "10.0.7.1", cookie: cookie)
            #expect(again.status == 303)
            let signedIn = try await hub.send(
                "POST",
                "/-/news/sign-in",
                headers: [
                    ("Sec-Fetch-Site", "same-origin"), ("X-Forwarded-For", "10.0.7.1"), ("X-Forwarded-Proto", "https"),
                ],
                form: "user=alice&password=alice"
            )
            #expect(signedIn.status == 303, "\(signedIn.body)")
        }
    }
}
