import GRDB
import HTTPTypes
import HubProtocol
import HubTestServer
import SQLiteFiles
import Testing
import WebPages

@testable import PageServer

/// How operators get in, and that nobody else does.
struct OperatorEntryTests {
    private static let routes = OperatorRoutes.all.filter { !$0.address.hasSuffix("/enter") }
    private static let elsewhere = ("X-Forwarded-For", "192.0.2.7")

    private static func path(_ route: PageRoute) -> String {
        route.address.replacing(":hub", with: "news").replacing(":id", with: "1-2-3").replacing(":name", with: "desk")
    }

    @Test func `a link begins one session of twelve hours`() async throws {
        try await PagesHub.run(.public) { hub in
            let code = try await hub.store.inviteOperator(of: try HubName("news"), at: hub.clock.now).code
            let form = try await hub.send("GET", "/-/news/admin/enter?code=\(code)")
            #expect(form.status == 200 && form.field("code") == code)
            let entered = try await hub.send("POST", "/-/news/admin/enter", form: "code=\(code)")
            #expect(entered.status == 303 && entered.location == "/-/news/admin/")
            let setting = try #require(entered.cookie)
            #expect(setting.hasPrefix("\(OperatorBrowser.cookieName)="))
            for attribute in ["Max-Age=43200", "Path=/", "HttpOnly", "SameSite=Strict", "Secure"] {
                #expect(setting.contains("; \(attribute)"), "\(setting)")
            }
            let again = try await hub.send("POST", "/-/news/admin/enter", form: "code=\(code)")
            #expect(again.status == 403 && again.cookie == nil)
            let cookie = String(setting.prefix { $0 != ";" })
            let overview = try await hub.send("GET", "/-/news/admin/", cookie: cookie)
            #expect(overview.status == 200)
            hub.clock.advance(by: OperatorSession.lifetime)
            let late = try await hub.send("GET", "/-/news/admin/", cookie: cookie)
            #expect(late.status == 401)
        }
    }

    @Test func `a link that is late, of another hub or a reader's begins nothing`() async throws {
        try await PagesHub.run(.public) { hub in
            let (news, town) = (try HubName("news"), try HubName("town"))
            let late = try await hub.store.inviteOperator(of: news, at: hub.clock.now).code
            hub.clock.advance(by: Invitation.operatorLifetime)
            let other = try await hub.store.inviteOperator(of: town, at: hub.clock.now).code
            let reader = try await hub.store.invite(to: news, at: hub.clock.now).code
            for code in [late, other, reader, "", "x", "\(other)x"] {
                let reply = try await hub.send("POST", "/-/news/admin/enter", form: "code=\(code)")
                #expect(reply.status == 403 && reply.cookie == nil, "\(code)")
            }
            // An operator's link is no reader's, and is still unused.
            let asReader = try await hub.send("POST", "/-/town/enter", form: "code=\(other)")
            #expect(asReader.status == 403)
            let right = try await hub.send("POST", "/-/town/admin/enter", form: "code=\(other)")
            #expect(right.status == 303)
        }
    }

    @Test func `without a session every address is unknown to other machines`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            let value = try #require(browser.cookie.split(separator: "=").last.map(String.init))
            let parts = value.split(separator: ".")
            let cookies: [String?] = [
                nil, "\(OperatorBrowser.cookieName)=\(parts[0]).\(String(repeating: "A", count: 32))",
                "\(OperatorBrowser.cookieName)=\(value)A", "newswire.operator-news=\(value)",
                try await hub.subscribe("World"),
            ]
            let unknown = try await hub.send("GET", "/-/news/nothing", headers: [Self.elsewhere])
            #expect(unknown.status == 404)
            #expect(Self.routes.count > 10)
            for route in Self.routes {
                for cookie in cookies {
                    let headers = [Self.elsewhere, ("Sec-Fetch-Site", "same-origin")]
                    let method = route.method.rawValue
                    let reply = try await hub.send(method, Self.path(route), cookie: cookie, headers: headers)
                    #expect(reply.status == 404 && reply.body == unknown.body, "\(method) \(route.address)")
                }
            }
            let here = try await hub.send("GET", "/-/news/admin/messages")
            #expect(here.status == 401 && here.body.contains("newswire hub invite --operator"))
            let town = try await hub.send("GET", "/-/town/admin/", cookie: browser.cookie)
            #expect(town.status == 401)
        }
    }

    @Test func `forms of other sites, and those that cannot be read, do nothing`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            let before = try await browser.actions()
            for route in OperatorRoutes.all where route.method == .post {
                for headers in [[("Sec-Fetch-Site", "cross-site")], [("Origin", "https://evil.example")], []] {
                    let path = Self.path(route)
                    let reply = try await hub.send("POST", path, cookie: browser.cookie, headers: headers, form: "a=b")
                    #expect(reply.status == 403, "\(route.address)")
                }
            }
            let large = "text=" + String(repeating: "a", count: PageRequest.maximumForm)
            for route in OperatorRoutes.all where route.method == .post {
                for (form, status) in [(large, 413), ("text=%FF", 400)] {
                    let reply = try await hub.send("POST", Self.path(route), cookie: browser.cookie, form: form)
                    #expect(reply.status == status, "\(route.address)")
                }
            }
            let after = try await browser.actions()
            #expect(after == before)
            let overview = try await browser.get("")
            #expect(overview.status == 200)
        }
    }

    @Test func `leaving ends the session`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            let left = try await browser.post("leave")
            #expect(left.status == 303 && left.cookie?.contains("Max-Age=0") == true)
            let overview = try await browser.get("")
            #expect(overview.status == 401)
            let entries = try await browser.actions()
            #expect(entries.map(\.action) == ["enter"])
        }
    }

    @Test func `a file of the first version is brought up to date`() async throws {
        let (scratch, name) = (try ScratchFolder(), try HubName("news"))
        let path = scratch.file("pages.sqlite")
        let old = try PageStore(path: path)
        let code = try await old.invite(to: name, at: 1_000).code
        try await old.write { db in
            try db.database.execute(
                sql: """
                    DROP TABLE operatorAction; DROP TABLE operatorSession; DROP TABLE operatorInvitation;
                    DELETE FROM grdb_migrations WHERE identifier = 'operators';
                    """
            )
        }
        let store = try PageStore(path: path)
        let link = try await store.inviteOperator(of: name, at: 1_000)
        let session = try await store.beginOperatorSession(
            with: link.code,
            .random(),
            from: "192.0.2.0/24",
            hub: name,
            at: 2_000
        )
        #expect(session != nil)
        let isKept = try await store.use(code, hub: name, at: 2_000)
        #expect(isKept)
    }

    @Test func `the oldest actions go`() async throws {
        let (scratch, name) = (try ScratchFolder(), try HubName("news"))
        let store = try PageStore(path: scratch.file("pages.sqlite"))
        let session = OperatorSession(id: 1, name: "0123456789", expiresAt: 9_000)
        let acting = ActingOperator(who: session.shortName, network: "::1", hub: name, at: 1)
        for text in ["first", "second"] {
            let id = try await store.note("send", text, by: acting)
            try await store.finish(id, outcome: "done")
        }
        let last = Int64(PageStore.maximumActions)
        try await store.write { db in
            try db.database.execute(
                sql: "UPDATE sqlite_sequence SET seq = ? WHERE name = 'operatorAction'",
                arguments: [last]
            )
        }
        _ = try await store.note("send", "third", by: acting)
        let kept = try await store.actions(of: try HubName("NEWS"), limit: 10)
        #expect(kept.map(\.detail) == ["third", "second"])
        #expect(kept.map(\.outcome) == ["begun", "done"])
        #expect(kept.map(\.who) == ["01234567", "01234567"])
        let older = try await store.actions(of: name, before: last, limit: 10)
        #expect(older.map(\.detail) == ["second"])
    }
}
