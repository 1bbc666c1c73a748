import Formats
import GRDB
import HTTPTypes
import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing
import WebPages

@testable import AppBackend
@testable import PageServer

/// The desk: accounts that may use it, drafts, and the approval of a second account.
struct DeskTests {
    /// A browser of an account that may use the desk.
    private struct Editor {
        let hub: PagesHub
        let cookie: String

        init(_ hub: PagesHub, _ name: String, mayUseDesk: Bool = true) async throws {
            let user = try #require(UserName(name))
            try await hub.accounts().setRights(of: user, mayUseDesk: mayUseDesk)
            let form = "user=\(name)&password=\(name)"
            let reply = try await hub.send("POST", "/-/news/sign-in", form: form)
            cookie = String(try #require(reply.cookie, "\(reply.body)").prefix { $0 != ";" })
            self.hub = hub
        }

        func get(_ path: String) async throws -> Reply {
            try await hub.send("GET", "/-/news/admin/\(path)", cookie: cookie)
        }

        func post(_ path: String, _ fields: [(String, String)] = []) async throws -> Reply {
            let form = fields.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
            return try await hub.send("POST", "/-/news/admin/\(path)", cookie: cookie, form: form)
        }

        /// Previews a message, and confirms it.
        func send(_ fields: [(String, String)]) async throws -> Reply {
            let preview = try await post("send", fields)
            let key = try #require(preview.field("key"), "\(preview.body)")
            return try await post("send/confirmed", fields + [("key", key)])
        }
    }

    private static let fire = [("category", "World"), ("title", "Fire in the harbour"), ("urgency", "critical")]

    private static func run(_ approval: Bool = true, _ body: (PagesHub) async throws -> Void) async throws {
        var appearance = PageAppearance()
        appearance.approvesUrgent = approval
        let names = [try HubName("news"): appearance]
        try await PagesHub.run(.public, users: ["anna", "bert", "carl"], appearances: names) { hub in
            _ = try await hub.subscribe("World")
            try await body(hub)
        }
    }

    private static func drafts(_ hub: PagesHub) async throws -> [DeskDraft] {
        try await hub.store.drafts(of: try HubName("news"), at: hub.clock.now)
    }

    private static func sent(_ hub: PagesHub) async throws -> [String] {
        try await hub.client.newestMessages(10).map { $0.title ?? "" }
    }

    @Test func `an account with the right sees the desk and nothing else, and the audit names it`() async throws {
        try await Self.run(false) { hub in
            let (anna, carl) = (try await Editor(hub, "anna"), try await Editor(hub, "carl", mayUseDesk: false))
            let home = try await hub.send("GET", "/-/news/", cookie: anna.cookie)
            #expect(home.body.contains("href=\"/-/news/admin/send\">Desk</a>"))
            #expect(try await !hub.send("GET", "/-/news/", cookie: carl.cookie).body.contains("admin/send"))
            for path in ["send", "drafts", "scheduled"] {
                let reply = try await anna.get(path)
                #expect(reply.status == 200 && reply.body.contains("<strong>anna</strong>"), "\(path)")
                #expect(!reply.body.contains("/-/news/admin/devices") && !reply.body.contains("admin/leave"), "\(path)")
                #expect(try await carl.get(path).status == 401, "\(path)")
            }
            for path in ["", "messages", "devices", "categories", "publishers", "alarms", "audit"] {
                #expect(try await anna.get(path).status == 401, "\(path)")
            }
            let reply = try await anna.send(Self.fire)
            #expect(reply.status == 303 && reply.location == "/-/news/admin/drafts")
            #expect(try await Self.sent(hub) == ["Fire in the harbour"])
            let action = try await hub.store.actions(of: try HubName("news"), limit: 1).first
            #expect(action?.who == "user anna" && action?.action == "send")
            let page = try await anna.get("drafts")
            #expect(page.body.contains("Fire in the harbour") && page.body.contains("send?correct="))
            // The right ends at once.
            try await hub.accounts().setRights(of: try #require(UserName("anna")), mayUseDesk: false)
            #expect(try await anna.get("send").status == 401)
            #expect(try await anna.post("send", Self.fire).status == 401)
        }
    }

    @Test func `a draft keeps every field, and ends when it is sent`() async throws {
        try await Self.run(false) { hub in
            let anna = try await Editor(hub, "anna")
            let fields = Self.fire + [("text", "<b>One</b>\r\ntwo"), ("link", "https://example.org/"), ("at", "")]
            #expect(try await anna.post("send/draft", fields).status == 303)
            let draft = try #require(try await Self.drafts(hub).first)
            #expect(draft.author == "user anna" && !draft.isWaiting && draft.fields.text == "<b>One</b>\ntwo")
            let form = try await anna.get("send?draft=\(draft.id)")
            #expect(form.body.contains("&lt;b&gt;One&lt;/b&gt;\ntwo") && form.field("draft") == "\(draft.id)")
            // Saved again, it is still one.
            let again = try await anna.post("send/draft", fields + [("draft", "\(draft.id)")])
            #expect(again.status == 303)
            let next = try #require(try await Self.drafts(hub).first)
            #expect(try await Self.drafts(hub).count == 1 && next.id > draft.id)
            #expect(try await anna.send(fields + [("draft", "\(next.id)")]).status == 303)
            #expect(try await Self.drafts(hub).isEmpty)
            #expect(try await Self.sent(hub) == ["Fire in the harbour"])
        }
    }

    @Test func `drafts are bounded, expire, and can be deleted`() async throws {
        try await Self.run { hub in
            let anna = try await Editor(hub, "anna")
            for number in 0..<DeskDraft.maximumOfHub {
                #expect(try await anna.post("send/draft", [("title", "\(number)")]).status == 303)
            }
            let full = try await anna.post("send/draft", [("title", "one more")])
            #expect(full.status == 409 && full.body.contains("There are too many drafts"))
            let first = try #require(try await Self.drafts(hub).first)
            #expect(try await anna.post("drafts/\(first.id)/delete").status == 303)
            #expect(try await anna.post("drafts/\(first.id)/delete").status == 404)
            #expect(try await anna.post("send/draft", [("title", "one more")]).status == 303)
            #expect(try await anna.get("drafts/x").status == 404)
            hub.clock.advance(by: DeskDraft.lifetime)
            #expect(try await Self.drafts(hub).isEmpty)
        }
    }

    @Test func `an urgent message waits for a second account, and is sent once as it was approved`() async throws {
        try await Self.run { hub in
            let (anna, bert) = (try await Editor(hub, "anna"), try await Editor(hub, "bert"))
            let preview = try await anna.post("send", Self.fire)
            #expect(preview.body.contains("Ask for approval"))
            #expect(try await anna.send(Self.fire).location == "/-/news/admin/drafts")
            #expect(try await Self.sent(hub).isEmpty)
            let draft = try #require(try await Self.drafts(hub).first)
            // Its author cannot approve it, and neither can an operator's link.
            let own = try await anna.post("drafts/\(draft.id)/approve")
            #expect(own.status == 403)
            let link = try await OperatorBrowser(hub)
            #expect(try await link.post("drafts/\(draft.id)/approve").status == 403)
            let place = "drafts/\(draft.id)"
            for page in [try await anna.get(place), try await link.get(place)] {
                #expect(page.body.contains("Fire in the harbour") && !page.body.contains("id=\"confirm\""))
            }
            #expect(try await Self.sent(hub).isEmpty)
            let page = try await bert.get("drafts/\(draft.id)")
            #expect(page.body.contains("/-/news/admin/\(place)/approve") && page.body.contains("id=\"confirm\""))
            // What the form says does not count.
            let approved = try await bert.post("\(place)/approve", [("title", "Other"), ("category", "Sports")])
            #expect(approved.status == 303, "\(approved.body)")
            #expect(try await bert.post("drafts/\(draft.id)/approve").status == 404)
            #expect(try await Self.sent(hub) == ["Fire in the harbour"])
            #expect(try await Self.drafts(hub).isEmpty)
            let recorded = try await hub.store.actions(of: try HubName("news"), limit: 10)
            let actions = recorded.map { "\($0.who): \($0.action)" }
            #expect(actions.contains("user anna: ask for approval") && actions.contains("user bert: approve"))
        }
    }

    @Test func `an edit voids an approval, and so do the end of the author's right and a day`() async throws {
        try await Self.run { hub in
            let (anna, bert) = (try await Editor(hub, "anna"), try await Editor(hub, "bert"))
            #expect(try await anna.send(Self.fire).status == 303)
            let first = try #require(try await Self.drafts(hub).first)
            let edited = Self.fire.map { $0.0 == "title" ? ($0.0, "Fire is out") : $0 } + [("draft", "\(first.id)")]
            #expect(try await anna.send(edited).status == 303)
            #expect(try await bert.post("drafts/\(first.id)/approve").status == 404)
            let second = try #require(try await Self.drafts(hub).first)
            #expect(try await Self.drafts(hub).count == 1)
            let user = try #require(UserName("anna"))
            try await hub.accounts().setRights(of: user, mayUseDesk: false)
            let refused = try await bert.post("drafts/\(second.id)/approve")
            #expect(refused.status == 409 && refused.body.contains("may not use the desk any more"))
            try await hub.accounts().setRights(of: user, mayUseDesk: true)
            hub.clock.advance(by: DeskDraft.approvalTime)
            #expect(try await bert.post("drafts/\(second.id)/approve").status == 404)
            #expect(try await Self.sent(hub).isEmpty)
            // A message that is not urgent needs nobody.
            let plain = Self.fire.filter { $0.0 != "urgency" }
            #expect(try await anna.send(plain).status == 303)
            #expect(try await Self.sent(hub) == ["Fire in the harbour"])
        }
    }

    @Test func `an operator's link asks for no approval, unless an account is signed in beside it`() async throws {
        try await Self.run { hub in
            let link = try await OperatorBrowser(hub)
            let form = Self.fire.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
            let key = try #require(try await link.post("send", form).field("key"))
            let refused = try await link.post("send/confirmed", "\(form)&key=\(key)")
            #expect(refused.status == 403 && refused.body.contains("needs two accounts"))
            let preview = try await link.post("send", form)
            #expect(preview.body.contains("sign in with one that may use the desk"))
            #expect(!preview.body.contains("id=\"confirm\""))
            let anna = try await Editor(hub, "anna")
            let both = "\(link.cookie); \(anna.cookie)"
            let asked = try await hub.send(
                "POST",
                "/-/news/admin/send/confirmed",
                cookie: both,
                form: "\(form)&key=\(key)"
            )
            #expect(asked.status == 303, "\(asked.body)")
            #expect(try await Self.drafts(hub).map(\.author) == ["user anna"])
            #expect(try await Self.sent(hub).isEmpty)
        }
    }

    @Test func `an approval that the server's end interrupted is repeated without a second message`() async throws {
        try await Self.run { hub in
            let (anna, bert) = (try await Editor(hub, "anna"), try await Editor(hub, "bert"))
            #expect(try await anna.send(Self.fire).status == 303)
            let draft = try #require(try await Self.drafts(hub).first)
            let acting = ActingOperator(who: "user bert", network: "", hub: try HubName("news"), at: hub.clock.now)
            #expect(try await hub.store.approve(draft, by: acting))
            #expect(try await bert.get("drafts").body.contains("approved by user bert, not sent"))
            #expect(try await bert.post("drafts/\(draft.id)/approve").status == 303)
            #expect(try await Self.sent(hub) == ["Fire in the harbour"])
        }
    }

    @Test func `a correction of an urgent message waits, a withdrawal does not`() async throws {
        try await Self.run { hub in
            let (anna, bert) = (try await Editor(hub, "anna"), try await Editor(hub, "bert"))
            #expect(try await anna.send(Self.fire).status == 303)
            let draft = try #require(try await Self.drafts(hub).first)
            #expect(try await bert.post("drafts/\(draft.id)/approve").status == 303)
            let id = try #require(try await hub.client.newestMessages(1).first?.id)
            let correction = [
                ("original", "\(id)"), ("status", "correction"), ("title", "Another"), ("urgency", "low"),
            ]
            #expect(try await anna.send(correction).location == "/-/news/admin/drafts")
            #expect(try await Self.sent(hub) == ["Fire in the harbour"])
            let waiting = try #require(try await Self.drafts(hub).first)
            #expect(try await bert.post("drafts/\(waiting.id)/approve").status == 303)
            let both = try await Self.sent(hub)
            #expect(both == ["Correction: Another", "Fire in the harbour"])
            #expect(try await anna.send([("original", "\(id)"), ("status", "withdrawn")]).status == 303)
            #expect(try await Self.sent(hub).count == 3)
        }
    }

    @Test func `a request for approval that is pressed twice, or changed after Back, waits once`() async throws {
        try await Self.run { hub in
            let anna = try await Editor(hub, "anna")
            let key = try #require(try await anna.post("send", Self.fire).field("key"))
            for _ in 0..<2 { #expect(try await anna.post("send/confirmed", Self.fire + [("key", key)]).status == 303) }
            #expect(try await Self.drafts(hub).count == 1)
            let changed = Self.fire.map { $0.0 == "title" ? ($0.0, "Fire is out") : $0 } + [("former", key)]
            #expect(try await anna.send(changed).status == 303)
            #expect(try await Self.drafts(hub).map(\.fields.title) == ["Fire is out"])
            let recorded = try await hub.store.actions(of: try HubName("news"), limit: 10)
            #expect(recorded.contains { $0.action == "replace request" && $0.who == "user anna" })
        }
    }

    @Test func `an account at the desk neither sees nor sends messages to persons`() async throws {
        try await Self.run(false) { hub in
            let anna = try await Editor(hub, "anna")
            let body = Array(#"{"title":"Only for Carl"}"#.utf8)
            _ = try await hub.client.send(body, tags: "$UserId:{carl}", idempotencyKey: nil)
            #expect(try await !anna.get("drafts").body.contains("carl"))
            for tags in ["$UserId:{carl}", "World && !$UserId:{carl}", "$InstallationId:{x}"] {
                let reply = try await anna.post("send", [("audience", "tags"), ("tags", tags), ("title", "x")])
                #expect(reply.status == 400 && reply.body.contains("not to persons and devices"), "\(tags)")
            }
            let fields = [("audience", "tags"), ("tags", "World && !Sports"), ("title", "x")]
            #expect(try await anna.post("send", fields).status == 200)
            // Nor does it count their devices.
            let form = try await anna.get("send?category=$UserId:%7Bcarl%7D&category=World")
            #expect(form.body.contains("<span>World</span> <small class=\"hint\">2</small>"), "the subscriber and Anna")
            #expect(!form.body.contains(/\$UserId:\{carl\}<\/span> <small/))
        }
    }

    @Test func `of all routes of the operator's view an account opens those of the desk`() async throws {
        try await Self.run(false) { hub in
            let anna = try await Editor(hub, "anna")
            let desk = Set([
                "GET send", "POST send", "POST send/confirmed", "POST send/draft", "GET drafts", "GET drafts/:id",
                "POST drafts/:id/approve", "POST drafts/:id/delete", "GET scheduled", "POST scheduled/:id/cancel",
            ])
            let beginning = "\(PageRoute.home)/admin"
            for route in OperatorRoutes.all where !route.address.hasSuffix("/enter") {
                let place = String(route.address.dropFirst(beginning.count + 1))
                let path = place.replacing(":id", with: "1").replacing(":name", with: "desk")
                let reply = route.method == .get ? try await anna.get(path) : try await anna.post(path)
                let isOfDesk = desk.contains("\(route.method.rawValue) \(place)")
                #expect((reply.status != 401) == isOfDesk, "\(route.method.rawValue) \(place): \(reply.status)")
            }
        }
    }

    @Test func `a draft of a version with fewer fields is read`() async throws {
        try await Self.run(false) { hub in
            let anna = try await Editor(hub, "anna")
            #expect(try await anna.post("send/draft", [("title", "Old")]).status == 303)
            _ = try await hub.store.execute(#"UPDATE deskDraft SET content = '{"title":"Older","later":1}'"#, [])
            #expect(try await Self.drafts(hub).map(\.fields.title) == ["Older"])
        }
    }
}
