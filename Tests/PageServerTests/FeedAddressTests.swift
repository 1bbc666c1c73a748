import Foundation
import GRDB
import HubClient
import HubProtocol
import OutboundHTTP
import SQLiteFiles
import Testing
import WebPages

@testable import PageServer

/// Addresses of feeds with a secret, for feed readers of those who are invited.
struct FeedAddressTests {
    private static let news = "/-/news/feeds/World.atom"

    /// Sends a message whose title is in the feed.
    private func publish(_ hub: PagesHub) async throws {
        let body = Array(#"{"title":"In the feed","category":"World"}"#.utf8)
        _ = try await hub.client.send(body, tags: "World", idempotencyKey: nil)
    }

    /// Creates an address on the page, and gives its path and query.
    private func create(_ hub: PagesHub, _ cookie: String) async throws -> String {
        let page = try await hub.send("POST", "/-/news/feeds", cookie: cookie, form: "")
        #expect(page.status == 200, "\(page.body)")
        let found = page.body.firstMatch(of: /href="https:\/\/[^"\/]+(\/-\/news\/feeds\/World\.atom\?token=[^"]+)"/)
        return String(try #require(found, "\(page.body)").1)
    }

    @Test func `an invited reader creates an address that works without a cookie until it is ended`() async throws {
        try await PagesHub.run { hub in
            try await publish(hub)
            let cookie = try await hub.entered()
            let home = try await hub.send("GET", "/-/news/", cookie: cookie)
            #expect(!home.body.contains(#"rel="alternate""#) && home.body.contains(#"href="/-/news/feeds""#))
            let address = try await create(hub, cookie)
            for path in [address, address.replacing("World.atom", with: "world.rss")] {
                let feed = try await hub.send("GET", path)
                #expect(feed.status == 200 && feed.body.contains("In the feed"), "\(feed.body)")
                #expect(feed.headers["Referrer-Policy"] == "no-referrer")
                #expect(feed.headers["Cache-Control"] == "private, max-age=60")
            }
            let head = try await hub.send("HEAD", address)
            #expect(head.status == 200 && head.body.isEmpty)
            // Once only: the page then knows that there is an address, and not which.
            let later = try await hub.send("GET", "/-/news/feeds", cookie: cookie)
            let id = try #require(later.body.firstMatch(of: /name="id" value="(\d+)"/)?.1)
            #expect(!later.body.contains("token="))
            let otherReader = try await hub.entered()
            for (who, cookie, status) in [("another reader", otherReader, 200), ("its reader", cookie, 404)] {
                let ended = try await hub.send("POST", "/-/news/feeds/end", cookie: cookie, form: "id=\(id)")
                #expect(ended.status == 303)
                let feed = try await hub.send("GET", address)
                #expect(feed.status == status, "\(who)")
            }
        }
    }

    @Test func `an address that is not valid looks like any that does not exist`() async throws {
        try await PagesHub.run { hub in
            try await publish(hub)
            let cookie = try await hub.entered()
            let address = try await create(hub, cookie)
            let secret = try #require(address.split(separator: "=").last)
            let parts = secret.split(separator: ".")
            let letters = String(repeating: "A", count: 32)
            let plain = try await hub.send("GET", Self.news)
            func shape(_ reply: Reply) -> String { reply.body.replacing(/TrackingId:[^<]*/, with: "") }
            for token in [
                "", "x", "\(parts[0])", "\(parts[0]).\(letters)", "\(letters).\(parts[1])", "\(secret)A", "%00", "a.b",
            ] {
                let reply = try await hub.send("GET", "\(Self.news)?token=\(token)")
                #expect(reply.status == 404 && shape(reply) == shape(plain), "\(token): \(reply.body)")
            }
            for hubAndTag in ["town/feeds/World", "nowhere/feeds/World", "closed/feeds/World", "news/feeds/staff"] {
                let reply = try await hub.send("GET", "/-/\(hubAndTag).atom?token=\(secret)")
                #expect(reply.status == 404 && shape(reply) == shape(plain), "\(hubAndTag): \(reply.body)")
                #expect(reply.headers["Content-Type"] == plain.headers["Content-Type"], "\(hubAndTag)")
            }
            // It gives access to feeds alone.
            for path in ["/-/news/?token=\(secret)", "/-/news/events?token=\(secret)", "/-/news/feeds?token=\(secret)"]
            {
                let reply = try await hub.send("GET", path)
                #expect(reply.status == 401, "\(path)")
            }
            let asCookie = try await hub.send("GET", "/-/news/", cookie: "__Host-newswire-news=\(secret)")
            #expect(asCookie.status == 401)
        }
    }

    @Test func `an address ends with its reader, and otherwise when it is not used`() async throws {
        try await PagesHub.run { hub in
            let (first, second) = (try await hub.entered(), try await hub.entered())
            let (left, kept) = (try await create(hub, first), try await create(hub, second))
            _ = try await hub.send("POST", "/-/news/leave", cookie: first, form: "")
            let gone = try await hub.send("GET", left)
            #expect(gone.status == 404)
            // A use counts as a visit.
            for _ in 0..<3 {
                hub.clock.advance(by: ReaderSession.lifetime - .seconds(1))
                let feed = try await hub.send("GET", kept)
                #expect(feed.status == 200)
                try await hub.pages.endExpiredSessions()
            }
            hub.clock.advance(by: ReaderSession.lifetime)
            let expired = try await hub.send("GET", kept)
            #expect(expired.status == 404)
        }
    }

    @Test func `a reader has so many addresses at most, and each is used so often`() async throws {
        try await PagesHub.run(nodes: 1) { hub in
            let cookie = try await hub.entered()
            let address = try await create(hub, cookie)
            for _ in 1..<ReaderFeedAddress.maximumOfReader { _ = try await create(hub, cookie) }
            let refused = try await hub.send("POST", "/-/news/feeds", cookie: cookie, form: "")
            #expect(refused.status == 409 && !refused.body.contains("token="))
            var last = 200
            for _ in 0...ReaderFeedAddress.requestsPerMinute { last = try await hub.send("GET", address).status }
            #expect(last == 429)
        }
    }

    @Test(arguments: [PageAccess.public, .invited])
    func `pages of other origins can read the refusals of public feeds`(access: PageAccess) async throws {
        try await PagesHub.run(access, nodes: 1) { hub in
            let token = try await hub.store.inviteFeedReader(to: try HubName("news"), at: hub.clock.now)
            var refusals = [try await hub.send("GET", "/-/news/feeds/Nothing.atom")]
            var last = try await hub.send("GET", "\(Self.news)?token=\(token)")
            #expect(last.status == 200)
            for _ in 0..<ReaderFeedAddress.requestsPerMinute where last.status == 200 {
                last = try await hub.send("GET", "\(Self.news)?token=\(token)")
            }
            refusals.append(last)
            #expect(refusals.map(\.status) == [404, 429])
            #expect(last.headers["Retry-After"] != nil)
            for reply in refusals {
                #expect(reply.headers["Access-Control-Allow-Origin"] == (access == .public ? "*" : nil))
                let isExposed = reply.headers["Access-Control-Expose-Headers"]?.contains("Retry-After") == true
                #expect(isExposed == (access == .public))
            }
        }
    }

    @Test func `the operator gives an address away, lists it and ends it`() async throws {
        try await PagesHub.run { hub in
            try await publish(hub)
            let (name, now) = (try HubName("news"), hub.clock.now)
            let token = try await hub.store.inviteFeedReader(to: name, at: now)
            let feed = try await hub.send("GET", "\(Self.news)?token=\(token)")
            #expect(feed.status == 200 && feed.body.contains("In the feed"))
            _ = try await hub.store.invite(to: name, at: now)
            _ = try await hub.store.inviteOperator(of: name, at: now)
            _ = try await hub.store.inviteFeedReader(to: try HubName("town"), at: now)
            _ = try await create(hub, try await hub.entered())
            let open = try await hub.store.openInvitations(to: name, at: now)
            #expect(open.map(\.kind) == [.reader, .operator, .feed, .feed])
            #expect(open.map(\.isOfReader) == [false, false, false, true])
            #expect(open.allSatisfy { $0.createdAt == now && $0.expiresAt > now })
            let own = try #require(open.first { $0.kind == .feed })
            let elsewhere = try await hub.store.openInvitations(to: try HubName("town"), at: now).map(\.id)
            #expect(elsewhere.count == 1)
            for id in ["feed-0", "feed-x", "feed", "", "town-1", "feed-1-1"] + elsewhere {
                let isEnded = try await hub.store.endInvitation(id, of: name)
                #expect(!isEnded, "\(id)")
            }
            for (id, isEnded) in [(own.id, true), (own.id, false), (open[0].id, true), (open[1].id, true)] {
                let result = try await hub.store.endInvitation(id, of: name)
                #expect(result == isEnded, "\(id)")
            }
            let after = try await hub.send("GET", "\(Self.news)?token=\(token)")
            #expect(after.status == 404)
            let left = try await hub.store.openInvitations(to: name, at: now)
            #expect(left.map(\.isOfReader) == [true])
        }
    }

    @Test func `the database has no secret of an address, and another hub of the name has none of the addresses`()
        async throws
    {
        try await PagesHub.run { hub in
            let name = try HubName("news")
            let token = try await hub.store.inviteFeedReader(to: name, at: hub.clock.now)
            let secret = try #require(token.split(separator: ".").last.map(String.init))
            let rows = try await hub.store.read {
                try Row.fetchAll($0.database, sql: "SELECT * FROM feedAddress").map(\.debugDescription)
            }
            #expect(rows.count == 1 && !rows.joined().contains(secret), "\(rows)")
            let before = try await hub.send("GET", "\(Self.news)?token=\(token)")
            #expect(before.status == 200)
            try await hub.store.note(name, createdAt: hub.clock.now + .seconds(1))
            let after = try await hub.store.openInvitations(to: name, at: hub.clock.now)
            #expect(after.isEmpty)
        }
    }

    @Test func `a reader who has only an account gets an address from the operator`() async throws {
        try await PagesHub.run(users: ["alice"]) { hub in
            let reply = try await hub.send("POST", "/-/news/sign-in", form: "user=alice&password=alice")
            let cookie = String(try #require(reply.headers["Set-Cookie"], "\(reply.body)").prefix { $0 != ";" })
            let page = try await hub.send("GET", "/-/news/feeds", cookie: cookie)
            #expect(page.status == 200 && page.body.contains("hub invite --feed"))
            let created = try await hub.send("POST", "/-/news/feeds", cookie: cookie, form: "")
            #expect(created.status == 303)
            let open = try await hub.store.openInvitations(to: try HubName("news"), at: hub.clock.now)
            #expect(open.isEmpty)
        }
    }

    @Test func `where everybody may read, the addresses have no secret`() async throws {
        try await PagesHub.run(.public) { hub in
            let page = try await hub.send("GET", "/-/news/feeds")
            #expect(
                page.status == 200 && page.body.contains("/-/news/feeds/World.atom\"") && !page.body.contains("token=")
            )
            let home = try await hub.send("GET", "/-/news/")
            #expect(home.body.contains(#"rel="alternate""#))
        }
    }
}
