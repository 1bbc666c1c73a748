import HubClient
import HubProtocol
import HubRouting
import HubStore
import SharedLog
import Testing
import WebPages

@testable import HubServer
@testable import PageServer

/// What the operator's pages show.
struct OperatorPageTests {
    private static let handle = String(repeating: "0123456789ABCDEF", count: 4)

    private static func phone(_ id: String) throws -> Installation {
        Installation(
            id: try InstallationID(id),
            userID: try UserID("ann"),
            platform: .apns,
            pushChannel: .handle(handle),
            tags: [try Tag("World")],
            templates: ["<script>alert(1)</script>": InstallationTemplate(body: #"{"aps":{"alert":"$(title)"}}"#)]
        )
    }

    @Test func `devices are found by tag, user, handle and id, with short handles`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            try await hub.client.put(try Self.phone("phone-1"))
            for query in ["by=tag&q=World", "by=user&q=ann", "by=handle&q=\(Self.handle)", ""] {
                let reply = try await browser.get("devices?\(query)")
                #expect(reply.status == 200 && reply.body.contains("/-/news/admin/devices/phone-1"), "\(query)")
                let rows = reply.body.split(separator: "<tbody>").dropFirst().first ?? ""
                #expect(rows.contains(Self.handle.prefix(16)) && !rows.contains(Self.handle), "\(query)")
                #expect(!reply.body.contains("<script>"), "\(query)")
            }
            let empty = try await browser.get("devices")
            #expect(empty.body.contains("No agent and no page was found."))
            let none = try await browser.get("devices?by=tag&q=Sports")
            #expect(none.status == 200 && none.body.contains("No device was found."))
            let byID = try await browser.get("devices?by=id&q=phone-1")
            #expect(byID.status == 303 && byID.location == "/-/news/admin/devices/phone-1")
            let device = try await browser.get("devices/phone-1")
            #expect(device.status == 200 && device.body.contains(Self.handle))
            #expect(device.body.contains("&lt;script&gt;alert(1)&lt;/script&gt;") && !device.body.contains("<script>"))
            for (path, status) in [
                ("devices/none", 404), ("registrations/none", 404), ("devices?by=tag&q=a%20b", 400),
                ("devices?from=%26direct", 400),
            ] {
                let reply = try await browser.get(path)
                #expect(reply.status == status, "\(path)")
            }
        }
    }

    @Test func `agents and readers' pages are found by tag and id, page by page`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            for number in 1...51 {
                let agent = Installation(
                    id: try InstallationID("agent-\(number)"),
                    platform: .stream,
                    pushChannel: .handle(PushChannelSecret.random().text),
                    tags: [try Tag(number == 51 ? "Late" : "World")]
                )
                try await hub.client.put(agent)
            }
            let first = try await browser.get("devices")
            #expect(first.body.contains(">agent-1<") && !first.body.contains(">agent-51<"))
            let more = try #require(first.body.firstMatch(of: /href="([^"]+&amp;agents=\d+)"/)?.1)
            let path = more.replacing("&amp;", with: "&").split(separator: "/admin/").last.map(String.init)
            let second = try await browser.get(try #require(path))
            #expect(second.body.contains(">agent-51<") && !second.body.contains(">agent-1<"))
            let late = try await browser.get("devices?by=tag&q=Late")
            #expect(late.body.contains(">agent-51<") && !late.body.contains(">agent-50<"))
        }
    }

    @Test func `messages show their titles, and nothing of secure or personal ones`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            func send(_ body: String, _ tags: String?) async throws -> MessageID {
                let id = try await hub.client.send(Array(body.utf8), tags: tags, idempotencyKey: nil)
                return try #require(id)
            }
            let open = try await send(
                ##"{"title":"<b>Bridge</b> reopens","messageParam":"The bridge is open."}"##,
                "World"
            )
            let secure = try await send(#"{"title":"SECRET","secureId":"77001"}"#, "username:ann")
            let personal = try await send(#"{"messageParam":"SECRET"}"#, "World || username:ann")
            let list = try await browser.get("messages")
            #expect(list.body.contains("Bridge") && !list.body.contains("<b>Bridge"))
            #expect(list.body.contains("secure: only its addressee") && list.body.contains("to persons or devices"))
            let page = try await browser.get("messages/\(open)")
            #expect(page.body.contains("The bridge is open."))
            for body in [
                list.body, try await browser.get("messages/\(secure)").body,
                try await browser.get("messages/\(personal)").body,
            ] {
                #expect(!body.contains("SECRET") && !body.contains("77001"))
            }
        }
    }

    @Test func `messages are listed page by page, and explained for a device`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            try await hub.client.put(try Self.phone("phone-1"))
            for _ in 0..<25 {
                _ = try await hub.client.send(Array(#"{"title":"x"}"#.utf8), tags: "World", idempotencyKey: nil)
            }
            let first = try await browser.get("messages?device=phone-1")
            #expect(first.body.split(separator: "<tr>").count - 2 == 20)
            let all = try await hub.client.newestMessages(25)
            let place = try #require(all[19].position)
            #expect(first.body.contains("messages?before=\(place)&amp;device=phone-1"))
            let second = try await browser.get("messages?before=\(place)")
            #expect(second.body.split(separator: "<tr>").count - 2 == 5)
            for message in all.suffix(5) { #expect(second.body.contains("messages/\(message.id)\"")) }
            let explained = try await browser.get("messages/\(all[0].id)?device=phone-1")
            #expect(explained.status == 200 && explained.body.contains("This device"))
            let strange = try await browser.get("messages/\(all[0].id)?device=%22%3E%3Cscript%3E")
            #expect(strange.status == 200 && !strange.body.contains("<script>"))
            for (path, status) in [("messages?before=0", 400), ("messages?before=x", 400), ("messages/!", 404)] {
                let reply = try await browser.get(path)
                #expect(reply.status == status, "\(path)")
            }
        }
    }

    @Test func `overview and categories show what the command line tells`() async throws {
        try await PagesHub.run(.public, nodes: 1) { hub in
            let browser = try await OperatorBrowser(hub)
            try await hub.client.put(try Self.phone("phone-1"))
            try await hub.client.setCategories(["World", "Weather"], publisher: "desk")
            let message = Array(#"{"title":"<i>Storm","messageParam":"x"}"#.utf8)
            _ = try await hub.client.send(message, tags: "World", idempotencyKey: nil)
            let overview = try await hub.client.overview()
            #expect(overview.hub == "news" && overview.accepted == 1)
            #expect(overview.installations == ["apns": 1] && overview.log.bytes > 0)
            let page = try await browser.get("")
            #expect(page.status == 200 && page.body.contains("<dt>Accepted</dt><dd dir=\"auto\">1</dd>"))
            #expect(page.cacheControl == "no-store")
            let categories = try await browser.get("categories")
            #expect(categories.body.contains("by=tag&amp;q=Weather") && categories.body.contains("1 apns"))
            #expect(categories.body.contains(": &lt;i&gt;Storm") && !categories.body.contains("<i>"))
            let away = try await browser.get("categories?from=999999999999")
            #expect(away.status == 200)
        }
    }

    @Test func `the overview of several nodes names one that does not answer`() async throws {
        try await PagesHub.run(.public, nodes: 2) { hub in
            let browser = try await OperatorBrowser(hub)
            let channel = try #require(hub.shared?.channel)
            var presence = EntryWriter()
            presence.append(NodeMessages.Kind.presence)
            for text in ["z", "1"] { presence.append(text: text) }
            presence.append(number: 1)
            channel.node("z").announce(presence.bytes)
            for node in ["n", "nb"] { await channel.settle(node) }
            for _ in 0..<2 {
                let page = try await browser.get("")
                #expect(page.body.contains("<h2>Last three days, without z: no answer</h2>"))
            }
        }
    }

    @Test func `counts that an earlier version stored do not end the hub`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            var report = PublisherReport(
                schedule: .pass,
                lastPass: hub.clock.now.wholeSecond,
                exitCode: 0,
                outbox: .max,
                feeds: [PublisherReport.Feed(category: "World", url: "https://a.example/", state: "failing")]
            )
            report.omittedFeeds = .max
            let stored = report
            let now = hub.clock.now
            for publisher in ["a", "b"] {
                let news = try hub.service.directory.hub(named: "news")
                try await news.perform { transaction, _ in
                    try transaction.setReport(stored, publisher: publisher, hub: news.record.id, at: now)
                    return ((), [ReportEffect()])
                }
            }
            let overview = try await browser.get("")
            #expect(overview.body.contains("2 of \(Int.max)"))
            let list = try await browser.get("publishers")
            #expect(list.status == 200 && list.body.contains("1 of \(Int.max)"))
        }
    }

    @Test func `a message shows its corrections, and a device why it got its messages`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            try await hub.client.put(try Self.phone("phone-1"))
            func send(_ title: String, _ more: [MessageProperty: String]) async throws -> MessageID {
                let own: [MessageProperty: String] = [.title: title, .messageParam: title, .story: "s1"]
                let body = MessageProperties(own.merging(more) { $1 }).encoded()
                let id = try await hub.client.send(body, tags: "World", idempotencyKey: nil)
                return try #require(id)
            }
            let first = try await send("<u>Storm", [.version: "1"])
            let second = try await send("Calm", [.version: "2", .status: "correction"])
            let page = try await browser.get("messages/\(first)")
            #expect(page.status == 200 && page.body.contains("Accepted, for 1 apns"))
            #expect(page.body.contains("messages/\(second)\"><bdi>Correction for World: Calm</bdi>"))
            #expect(page.body.contains("As apps get it") && page.body.contains("&lt;u&gt;Storm"))
            #expect(!page.body.contains("<u>"))
            let later = try await browser.get("messages/\(second)")
            #expect(later.body.contains("messages/\(first)\"><bdi>Message for World: &lt;u&gt;Storm</bdi>"))
            let device = try await browser.get("devices/phone-1")
            #expect(device.body.contains("messages/\(first)?device=phone-1") && device.body.contains("notDelivered"))
            // There is no credential, so that each target has a final outcome.
            let reason = "messages/\(first)?platform=apple&amp;outcome="
            #expect(page.body.contains("Outcomes at push services"), "\(reason)")
            let none = try await browser.get("messages/\(first)?platform=apns&outcome=WrongToken")
            #expect(none.status == 200 && none.body.contains("Failed devices on push services: WrongToken at apns"))
        }
    }

    @Test func `publishers show their failed feeds first`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            var failing = PublisherReport.Feed(category: "World", url: "https://b.example/", state: "failing")
            failing.error = "<u>404"
            let well = PublisherReport.Feed(category: "World", url: "https://a.example/", state: "well")
            let report = PublisherReport(
                schedule: .watch,
                lastPass: hub.clock.now.wholeSecond,
                exitCode: 0,
                outbox: 0,
                feeds: [well, failing]
            )
            try await hub.client.report(report, publisher: "news desk", timeout: .seconds(600))
            let list = try await browser.get("publishers")
            #expect(list.body.contains("/-/news/admin/publishers/news%20desk") && list.body.contains("1 of 2"))
            let one = try await browser.get("publishers/news%20desk")
            let (bad, good) = (one.body.firstRange(of: "b.example"), one.body.firstRange(of: "a.example"))
            #expect(one.body.contains("&lt;u&gt;404") && !one.body.contains("<u>"))
            let badStart = try #require(bad?.lowerBound)
            let goodStart = try #require(good?.lowerBound)
            #expect(badStart < goodStart)
            let none = try await browser.get("publishers/none")
            #expect(none.status == 404)
        }
    }

    @Test func `operators ask publishers for what these take, and see the answers`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            var feed = PublisherReport.Feed(category: "World", url: "https://a.example/", state: "well")
            (feed.lastPoll, feed.polls) = (hub.clock.now.wholeSecond, "r0u15f30")
            var entry = PublisherReport.Entry(title: "Old", state: "firstReading", reason: "recorded only")
            entry.judgedAt = hub.clock.now.wholeSecond
            feed.entries = [entry]
            var report = PublisherReport(
                schedule: .watch,
                lastPass: hub.clock.now.wholeSecond,
                exitCode: 0,
                outbox: 0,
                feeds: [feed]
            )
            func put() async throws { try await hub.client.report(report, publisher: "desk", timeout: .seconds(600)) }
            let path = "publishers/desk/feed?category=World&url=https%3A%2F%2Fa.example%2F"
            try await put()
            let former = try await browser.get(path)
            #expect(former.body.contains("recorded only (1 of 1 entry)") && !former.body.contains("Poll now"))
            #expect(former.body.contains("1 read, 1 not changed, 1 failed"))
            report.actions = ["poll", "pause", "resume"]
            var hours = PollHours(start: hub.clock.now.wholeSecond)
            (hours.read, hours.unchanged, hours.failed) = ([3], [0], [1])
            report.pollHours = hours
            try await put()
            let some = try await browser.get(path)
            #expect(some.body.contains("Poll now") && some.body.contains("Pause") && !some.body.contains("Remove from"))
            #expect(try await browser.get("publishers/desk").body.contains("list-edits: true"))
            #expect(try await browser.get("").body.contains("Polls of feeds"))
            report.actions = PublisherRequest.Action.allCases.map(\.rawValue)
            report.feeds[0] = PublisherReport.Feed(category: "World", url: "https://a.example/", state: "paused")
            try await put()
            let all = try await browser.get(path)
            #expect(all.body.contains("Resume") && !all.body.contains("Poll now") && all.body.contains("Remove from"))
            #expect(try await browser.get("publishers/desk").body.contains("Add a feed"))
            let form = "action=add&category=World&url=https%3A%2F%2Fb.example%2F%3Cu%3E"
            let asked = try await browser.post("publishers/desk/requests", form)
            #expect(asked.status == 303 && asked.location == "/-/news/admin/publishers/desk")
            for (path, form, status) in [
                ("desk", "action=erase&url=u", 400), ("desk", "action=add&url=u", 400),
                ("desk", "action=poll&url=", 400), ("x", "action=poll&url=u", 404),
            ] {
                let reply = try await browser.post("publishers/\(path)/requests", form)
                #expect(reply.status == status, "\(path) \(form)")
            }
            let list = try await browser.get("publishers/desk")
            #expect(list.body.contains("https://b.example/&lt;u&gt;") && list.body.contains("waits for the publisher"))
            let action = try #require(try await browser.actions().last { $0.action.hasPrefix("ask publisher") })
            #expect(action.detail == "add World https://b.example/<u>" && action.outcome.hasPrefix("request "))
            report.handled = [.init(number: 1, outcome: "added <u>")]
            try await put()
            let done = try await browser.get("publishers/desk")
            #expect(done.body.contains("added &lt;u&gt;") && !done.body.contains("<u>"))
        }
    }

    @Test func `a feed shows its entries with the reason for each`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            var feed = PublisherReport.Feed(category: "World & more", url: "https://a.example/?", state: "well")
            feed.title = "<b>Town"
            var sent = PublisherReport.Entry(title: "<i>Storm", state: "sent", reason: "sent")
            sent.message = "12-7"
            sent.date = "2030-03-16T00:00:00Z"
            let old = PublisherReport.Entry(title: "Old", state: "firstReading", reason: "recorded <u>only")
            let bad = PublisherReport.Entry(title: "Large", state: "refused", reason: "the hub refused it: too large")
            feed.entries = [sent, old, bad]
            let other = PublisherReport.Feed(category: "World", url: "https://b.example/", state: "new")
            let report = PublisherReport(
                schedule: .watch,
                lastPass: hub.clock.now.wholeSecond,
                exitCode: 0,
                outbox: 0,
                feeds: [feed, other]
            )
            try await hub.client.report(report, publisher: "desk", timeout: .seconds(600))
            let list = try await browser.get("publishers/desk")
            let query = "category=World%20%26%20more&url=https%3A%2F%2Fa.example%2F%3F"
            #expect(list.body.contains("publishers/desk/feed?\(query.replacing("&url", with: "&amp;url"))"))
            let page = try await browser.get("publishers/desk/feed?\(query)")
            #expect(page.status == 200 && page.body.contains("&lt;b&gt;Town") && !page.body.contains("<b>"))
            #expect(page.body.contains(#"<a href="/-/news/admin/messages/12-7"><bdi>&lt;i&gt;Storm</bdi></a>"#))
            #expect(page.body.contains("2030-03-16 00:00:00 UTC"))
            #expect(page.body.contains("recorded &lt;u&gt;only") && !page.body.contains("<u>"))
            #expect(page.body.contains(#"<td class="error"><bdi>the hub refused it: too large</bdi></td>"#))
            let empty = try await browser.get("publishers/desk/feed?category=World&url=https%3A%2F%2Fb.example%2F")
            #expect(empty.status == 200 && empty.body.contains("No entries were reported"))
            for path in ["publishers/desk/feed", "publishers/desk/feed?category=World&url=x", "publishers/x/feed"] {
                let reply = try await browser.get(path)
                #expect(reply.status == 404, "\(path)")
            }
        }
    }

    @Test func `messages are filtered by category, state, day and words, in bounded steps`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            func send(_ title: String, _ tags: String) async throws {
                let body = Array(#"{"title":"\#(title)","message":"About \#(title)"}"#.utf8)
                _ = try await hub.client.send(body, tags: tags, idempotencyKey: nil)
            }
            try await send("First harbour fire", "World")
            for number in 0..<MessageFilter.maximumRead { try await send("Number \(number)", "Sports && !World") }
            try await send("Second Harbour fire", "World || Town")
            let today = hub.clock.now.wholeSecond.prefix(10)
            for (query, count) in [
                ("q=HARBOUR+fire", 1), ("category=town", 1), ("category=Town&q=first", 0), ("state=NoTargetFound", 20),
                ("state=Completed", 0), ("day=\(today)&q=second", 1), ("day=2001-01-01", 0),
            ] {
                let page = try await browser.get("messages?\(query)")
                #expect(page.status == 200 && page.body.matches(of: /<tr><td/).count == count, "\(query)")
            }
            // The search goes on where it stopped, and keeps its fields.
            let first = try await browser.get("messages?q=harbour&category=World")
            #expect(first.body.contains("Second Harbour") && !first.body.contains("First harbour"))
            let next = try #require(first.body.firstMatch(of: /admin\/(messages\?[^"]*)" rel="next">Search further/)?.1)
            let rest = try await browser.get(String(next).replacing("&amp;", with: "&"))
            #expect(rest.body.contains("First harbour fire") && !rest.body.contains("rel=\"next\""))
            #expect(rest.body.contains("value=\"harbour\""))
            // A day before all messages ends the search.
            #expect(try await !browser.get("messages?day=9999-01-01").body.contains("rel=\"next\""))
        }
    }
}
