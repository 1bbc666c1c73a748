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
                ("audience", "category:World"), ("title", "<b>Fire</b>"), ("text", "One\r\ntwo"),
                ("link", "https://example.org/fire"), ("at", ""),
            ]
            let preview = try await browser.post("send", Self.form(fields))
            #expect(preview.status == 200, "\(preview.body)")
            #expect(preview.body.contains("<dd>1 stream</dd>"))
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
                [("audience", "category:<i>"), ("text", "x")],
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
}
