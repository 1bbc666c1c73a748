import Formats
import Foundation
import HubClient
import HubProtocol
import Testing
import WebPages

@testable import PageServer

/// Sending by hand: preview, confirmation, schedule.
struct OperatorSendTests {
    private static func form(_ fields: [(String, String)]) -> String {
        fields.map { "\($0.0)=\(PercentEncoding.encode($0.1))" }.joined(separator: "&")
    }

    @Test func `the preview counts, and a form that is confirmed twice sends once`() async throws {
        try await PagesHub.run(.public) { hub in
            _ = try await hub.subscribe("World")
            let browser = try await OperatorBrowser(hub)
            let fields = [
                ("category", "World"), ("title", "<b>Fire</b>"), ("text", "One\r\ntwo"),
                ("link", "https://example.org/fire"), ("at", ""),
            ]
            let preview = try await browser.post("send", Self.form(fields))
            #expect(preview.status == 200, "\(preview.body)")
            #expect(preview.body.contains("1 stream</dd>"))
            #expect(!preview.body.contains("<b>Fire"))
            let key = try #require(preview.field("key"))
            let none = try await hub.client.newestMessages(10)
            #expect(none.isEmpty)
            let confirmed = Self.form(fields + [("key", key)])
            let first = try await browser.post("send/confirmed", confirmed)
            let second = try await browser.post("send/confirmed", confirmed)
            #expect(first.status == 303 && second.status == 303)
            #expect(first.location == second.location)
            let sent = try await hub.client.newestMessages(10)
            #expect(sent.map(\.tags) == ["World"])
            let id = try #require(sent.first?.id)
            #expect(first.location == "/-/news/admin/messages/\(id)")
            let page = try await browser.get("messages/\(id)")
            #expect(page.status == 200 && page.body.contains(id.text))
            let actions = try await browser.actions()
            #expect(actions.map(\.action) == ["send", "send", "enter"])
            #expect(actions.prefix(2).allSatisfy { $0.outcome == "message \(id)" && $0.detail.hasPrefix("to World: ") })
        }
    }

    @Test func `what is wrong is said, and nothing is sent`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            let past = ISODateTime.formatSeconds(hub.clock.now.date.addingTimeInterval(-60))
            let wrong: [[(String, String)]] = [
                [("audience", "tags"), ("tags", "World"), ("text", " ")],
                [("audience", "tags"), ("tags", ""), ("text", "x")],
                [("audience", "tags"), ("tags", "a &&"), ("text", "x")],
                [("audience", "everybody"), ("tags", "World"), ("text", "x")],
                [("category", "<i>"), ("text", "x")],
                [("category", "World"), ("audience", "everybody"), ("text", "x")],
                [("category", "World"), ("tags", "Sports"), ("text", "x")],
                [("category", "World"), ("urgency", "quick"), ("text", "x")],
                [("audience", "everybody"), ("text", "x"), ("link", "javascript:alert(1)")],
                [("audience", "everybody"), ("text", "x"), ("at", past)],
                [("audience", "everybody"), ("text", "x"), ("at", "soon")],
                [("text", "x")],
            ]
            for fields in wrong {
                let reply = try await browser.post("send", Self.form(fields))
                #expect(reply.status == 400 && reply.body.contains("role=\"alert\""), "\(fields)")
                #expect(reply.field("key") == nil, "\(fields)")
            }
            for key in ["", "short", String(repeating: "!", count: 24)] {
                let fields = [("audience", "everybody"), ("text", "x"), ("key", key)]
                let reply = try await browser.post("send/confirmed", Self.form(fields))
                #expect(reply.status == 400, "\(key)")
            }
            let sent = try await hub.client.newestMessages(10)
            #expect(sent.isEmpty)
        }
    }

    @Test func `a story in several categories is corrected and withdrawn in all of them`() async throws {
        try await PagesHub.run(.public) { hub in
            _ = try await hub.subscribe("World")
            let browser = try await OperatorBrowser(hub)
            /// Previews the fields, and confirms them twice.
            func send(_ fields: [(String, String)]) async throws -> Reply {
                let preview = try await browser.post("send", Self.form(fields))
                let key = try #require(preview.field("key"), "\(preview.body)")
                let confirmed = Self.form(fields + [("key", key)])
                for _ in 0..<2 {
                    let reply = try await browser.post("send/confirmed", confirmed)
                    #expect(reply.status == 303, "\(reply.body)")
                }
                return preview
            }
            func newest(_ count: Int) async throws -> [MessageReport] {
                var reports: [MessageReport] = []
                for report in try await hub.client.newestMessages(count) {
                    reports.append(try await hub.client.report(on: report.id))
                }
                return reports
            }
            let first = try await send([
                ("category", "World"), ("category", "Sports"), ("title", "Bridge open"), ("urgency", "critical"),
                ("link", "https://example.org/"),
            ])
            #expect(first.body.contains("World: 1 stream\nSports: nobody"))
            #expect(first.body.contains("Nobody is registered for Sports."))
            var reports = try await newest(10)
            #expect(reports.map(\.tags) == ["Sports", "World"])
            #expect(reports.map { $0.properties?["category"] } == ["Sports", "World"])
            #expect(Set(reports.map { $0.properties?["story"] }).count == 1)
            let repeated = [("category", "World"), ("title", "Bridge open")]
            let again = try await browser.post("send", Self.form(repeated))
            #expect(again.body.contains("A message with this title was sent at "))

            let id = reports[0].id
            let page = try await browser.get("messages/\(id)")
            #expect(page.body.contains("/-/news/admin/send?correct=\(id)"))
            let form = try await browser.get("send?correct=\(id)")
            #expect(form.body.contains("Correct “Bridge open”") && form.body.contains("value=\"Bridge open\""))
            let corrected = [("title", "Bridge closed"), ("text", "For a week.")]
            _ = try await send([("original", id.text), ("status", "correction")] + corrected)
            reports = try await newest(2)
            #expect(reports.map(\.tags) == ["Sports", "World"])
            for report in reports {
                let properties = report.properties ?? [:]
                #expect(properties["title"] == "Correction: Bridge closed")
                #expect(properties["messageParam"] == "For a week.")
                #expect(properties["urgency"] == "critical" && properties["link"] == "https://example.org/")
                #expect(properties["status"] == "correction")
            }
            _ = try await send([("original", reports[1].id.text), ("status", "withdrawn")])
            reports = try await newest(2)
            #expect(reports.map(\.tags) == ["Sports", "World"])
            #expect(reports.allSatisfy { $0.properties?["title"] == "Withdrawn: Correction: Bridge closed" })
            #expect(try await newest(20).count == 6)
            let actions = try await browser.actions().map(\.action)
            let expected = ["withdraw", "correct", "send"].flatMap { [String](repeating: $0, count: 4) } + ["enter"]
            #expect(actions == expected)
        }
    }

    @Test func `a message that cannot be replaced says why`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            let bare = MessageProperties([.title: "T"])
            let id = try #require(try await hub.client.send(OutgoingMessage(bare.encoded(), tags: "World")))
            let page = try await browser.get("messages/\(id)")
            #expect(page.body.contains("It cannot be replaced: it names no story."))
            for (path, status) in [("send?correct=\(id)", 400), ("send?withdraw=none", 404), ("send?correct=", 200)] {
                let reply = try await browser.get(path)
                #expect(reply.status == status, "\(path): \(reply.body)")
            }
            let original = [("original", id.text), ("title", "x")]
            for fields in [original + [("status", "correction")], original] {
                let reply = try await browser.post("send", Self.form(fields))
                #expect(reply.status == 400 && reply.field("key") == nil)
            }
        }
    }

    @Test func `a scheduled message is listed and canceled`() async throws {
        try await PagesHub.run(.public) { hub in
            let browser = try await OperatorBrowser(hub)
            let time = ISODateTime.formatSeconds(Date().addingTimeInterval(86_400))
            let fields = [("audience", "everybody"), ("text", "Later"), ("at", time)]
            let preview = try await browser.post("send", Self.form(fields))
            let key = try #require(preview.field("key"), "\(preview.body)")
            let confirmed = try await browser.post("send/confirmed", Self.form(fields + [("key", key)]))
            #expect(confirmed.status == 303, "\(confirmed.body)")
            let waiting = try await hub.client.scheduledMessages(10)
            let id = try #require(waiting.first?.id)
            #expect(waiting.map(\.state) == [.scheduled])
            let list = try await browser.get("scheduled")
            #expect(list.body.contains("/-/news/admin/scheduled/\(id)/cancel"))
            let canceled = try await browser.post("scheduled/\(id)/cancel")
            #expect(canceled.status == 303 && canceled.location == "/-/news/admin/scheduled")
            let left = try await hub.client.scheduledMessages(10)
            #expect(left.isEmpty)
            let unknown = try await browser.post("scheduled/00000000000000000000000000000000/cancel")
            #expect(unknown.status == 404)
            let actions = try await browser.actions()
            #expect(actions.map(\.action) == ["cancel", "cancel", "schedule", "enter"])
            #expect(actions.map(\.outcome).prefix(2) == ["unknown", "canceled"])
        }
    }

    @Test func `the preview renders the template that most devices of a platform have`() async throws {
        try await PagesHub.run(.public) { hub in
            let handle = String(repeating: "0123456789ABCDEF", count: 4)
            let bodies = [#"{"aps":{"alert":"$(title)"}}"#, #"{"aps":{"alert":"$(title)"}}"#, #"{"aps":{}}"#]
            for (number, body) in bodies.enumerated() {
                let registration = Registration(
                    id: try await hub.client.newRegistrationID(),
                    tags: [try Tag("World")],
                    platform: .apns,
                    pushChannel: .handle(handle.replacing("F", with: "\(number)")),
                    template: RegistrationTemplate(name: "app", body: body)
                )
                try await hub.client.put(registration)
            }
            let browser = try await OperatorBrowser(hub)
            let preview = try await browser.post("send", Self.form([("category", "World"), ("title", "<b>Fire</b>")]))
            #expect(preview.body.contains("template &#39;app&#39;, 2 of 3:"), "\(preview.body)")
            #expect(preview.body.contains("{&quot;aps&quot;:{&quot;alert&quot;:&quot;&lt;b&gt;Fire&lt;/b&gt;&quot;}}"))
            let other = try await browser.post("send", Self.form([("category", "Sports"), ("title", "Fire")]))
            #expect(other.status == 200 && !other.body.contains("As apps get it"))
        }
    }
}
