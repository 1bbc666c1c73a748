import Foundation
import HubProtocol
import HubStore
import Testing

@testable import HubServer

struct PublisherTests {
    private static func report(_ change: (inout PublisherReport) -> Void = { _ in }) throws -> String {
        var feed = PublisherReport.Feed(category: "World", url: "https://a.example/feed", state: "failing")
        feed.failingSince = "2030-03-16T00:00:00Z"
        feed.error = "the server answered 500"
        var entry = PublisherReport.Entry(title: "Storm", state: "sent", reason: "sent")
        (entry.date, entry.judgedAt, entry.message) = ("2030-03-16T00:00:00Z", "2030-03-16T00:01:00Z", "1-2")
        feed.entries = [entry]
        var report = PublisherReport(
            schedule: .watch,
            lastPass: "2030-03-17T17:46:40Z",
            exitCode: 0,
            outbox: 3,
            feeds: [feed, PublisherReport.Feed(category: "World", url: "https://b.example/", state: "well")]
        )
        report.version = "1.2.3"
        report.outboxOldest = "2030-03-17T17:00:00Z"
        change(&report)
        return String(decoding: try JSONEncoder.sorted.encode(report), as: UTF8.self)
    }

    private func put(_ hub: TestHub, _ publisher: String, _ body: String) async throws -> Reply {
        try await hub.send("PUT", "publishers/\(publisher)", as: hub.full, body)
    }

    /// Reports, and expects an answer.
    private func put(
        _ hub: TestHub,
        _ publisher: String,
        _ body: String,
        expecting status: Int,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let reply = try await put(hub, publisher, body)
        #expect(reply.status == status, "\(publisher): \(body.prefix(80))", sourceLocation: sourceLocation)
    }

    private func list(_ hub: TestHub) async throws -> [PublisherSummary] {
        let reply = try await hub.send("GET", "publishers", as: hub.full)
        return try JSONDecoder().decode(PublisherList.self, from: Data(reply.body.utf8)).publishers
    }

    @Test func `the languages of reports are read once for each change`() async throws {
        let english = try Self.report { $0.feeds[0].language = "English" }
        let both = try Self.report {
            $0.feeds[0].language = "English"
            $0.feeds[1].language = "French"
        }
        try await TestHub.run(try Scratch()) { hub in
            let feeds = hub.hub.publicFeeds
            for body in [english, both] {
                try await put(hub, "desk", body, expecting: 200)
                for _ in 1...3 { _ = try await feeds.languages(of: hub.hub) }
            }
            let languages = try await feeds.languages(of: hub.hub)
            #expect(languages == ["world": [try LanguageName("English"), try LanguageName("French")]])
            var readings = await feeds.languageReadings
            #expect(readings == 2)
            // Reports expire without a change.
            hub.clock.advance(by: 8 * 86_400)
            let expired = try await feeds.languages(of: hub.hub)
            readings = await feeds.languageReadings
            #expect(expired.isEmpty && readings == 3)
        }
    }

    @Test func `a summary has the languages of as many categories as fit`() async throws {
        let body = try Self.report { report in
            report.feeds = (0..<PublisherReport.maximumFeeds).map { number in
                let category = "c\(10_000 + number)" + String(repeating: "x", count: 90)
                var feed = PublisherReport.Feed(category: category, url: "https://a.example/", state: "well")
                feed.language = "English"
                return feed
            }
        }
        try await TestHub.run(try Scratch()) { hub in
            try await put(hub, "desk", body, expecting: 200)
            let languages = try #require(try await list(hub).first?.languages)
            #expect((100...200).contains(languages.count) && languages.keys.min()?.hasPrefix("c10000") == true)
        }
    }

    @Test func `a report is kept, listed and shown`() async throws {
        let scratch = try Scratch()
        let body = try Self.report()
        try await TestHub.run(scratch) { hub in
            for name in ["b", "a"] { try await put(hub, name, body, expecting: 200) }
        }
        try await TestHub.run(scratch) { hub in
            let publishers = try await list(hub)
            #expect(publishers.map(\.publisher) == ["a", "b"])
            let first = try #require(publishers.first)
            #expect(first.reportedAt == "2030-03-17T17:46:40Z" && first.version == "1.2.3" && first.schedule == .watch)
            #expect((first.feedCount, first.failedFeeds, first.outbox) == (2, 1, 3))
            let reply = try await hub.send("GET", "publishers/a", as: hub.full)
            let status = try JSONDecoder().decode(PublisherStatus.self, from: Data(reply.body.utf8))
            #expect(status.publisher == "a" && status.reportedAt == first.reportedAt)
            let sent = try PublisherReport(json: Array(body.utf8))
            #expect(status.report == sent)
            #expect(try await hub.send("GET", "publishers/c", as: hub.full).status == 404)
        }
    }

    @Test func `members that this version does not know do no harm`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let body = try Self.report().replacing(#""title":"Storm""#, with: #""title":"Storm","mood":{"calm":[1]}"#)
            #expect(body.contains("calm"))
            try await put(hub, "a", body, expecting: 200)
            try await put(hub, "old", try Self.report { $0.feeds[0].entries = nil }, expecting: 200)
            let publishers = try await list(hub)
            #expect(publishers.map(\.publisher) == ["a", "old"])
        }
    }

    private func requests(_ hub: TestHub, _ publisher: String) async throws -> [PublisherRequest] {
        let reply = try await hub.send("GET", "publishers/\(publisher)/requests", as: hub.full)
        return try JSONDecoder().decode(PublisherRequests.self, from: Data(reply.body.utf8)).requests
    }

    private func ask(_ hub: TestHub, _ publisher: String, _ body: String) async throws -> Reply {
        try await hub.send("POST", "publishers/\(publisher)/requests", as: hub.full, body)
    }

    @Test func `what operators ask waits for the publisher, and has its answer`() async throws {
        let scratch = try Scratch()
        try await TestHub.run(scratch) { hub in
            try await put(hub, "desk", try Self.report(), expecting: 200)
            let reply = try await ask(hub, "desk", #"{"action":"pause","url":"https://a.example/"}"#)
            #expect(reply.status == 201)
            let asked = try JSONDecoder().decode(PublisherRequest.self, from: Data(reply.body.utf8))
            let number = try #require(asked.number)
            #expect(asked.askedAt == "2030-03-17T17:46:40Z" && asked.outcome == nil)
            #expect(try await ask(hub, "none", #"{"action":"pause","url":"u"}"#).status == 404)
            for body in [
                "", "[]", #"{"action":"erase","url":"u"}"#, #"{"action":"poll","url":""}"#,
                #"{"action":"poll","url":"a\nb"}"#, #"{"action":"add","url":"u"}"#,
                #"{"action":"poll","url":"\#(String(repeating: "x", count: 2_001))"}"#,
            ] {
                #expect(try await ask(hub, "desk", body).status == 400, "\(body.prefix(60))")
            }
            let long = #"{"action":"poll","url":"u","x":"\#(String(repeating: "x", count: 9_000))"}"#
            #expect(try await ask(hub, "desk", long).status == 413)
            // Another publisher cannot answer it, and an answer stays as it is.
            for (publisher, outcome) in [("other", "mine"), ("desk", "paused"), ("desk", "no")] {
                let report = try Self.report { $0.handled = [.init(number: number, outcome: outcome)] }
                try await put(hub, publisher, report, expecting: 200)
            }
            #expect(try await requests(hub, "desk").map(\.outcome) == ["paused"])
        }
        try await TestHub.run(scratch) { hub in
            #expect(try await requests(hub, "desk").map(\.outcome) == ["paused"])
            for number in 1...PublisherRequest.maximumCount {
                #expect(try await ask(hub, "desk", #"{"action":"poll","url":"u\#(number)"}"#).status == 201)
            }
            let kept = try await requests(hub, "desk")
            #expect(kept.count == PublisherRequest.maximumCount && kept.first?.url == "u1")
            #expect(try await requests(hub, "other").isEmpty)
            hub.clock.advance(by: 7 * 86_400 + 1)
            #expect(try await requests(hub, "desk").isEmpty)
        }
    }

    @Test func `a report is forgotten after seven days`() async throws {
        let body = try Self.report()
        try await TestHub.run(try Scratch()) { hub in
            try await put(hub, "a", body, expecting: 200)
            hub.clock.advance(by: 7 * 86_400)
            let before = try await list(hub)
            #expect(before.count == 1)
            hub.clock.advance(by: 1)
            let after = try await list(hub)
            #expect(after.isEmpty)
            #expect(try await hub.send("GET", "publishers/a", as: hub.full).status == 404)
            #expect(try await hub.metrics().filter { $0.key.hasPrefix("newswire_publisher") }.isEmpty)
        }
    }

    @Test func `a hub keeps reports of a hundred publishers, and replaces those that it has`() async throws {
        let body = try Self.report()
        try await TestHub.run(try Scratch()) { hub in
            for number in 1...Transaction.maximumPublishers {
                try await put(hub, "p\(number)", body, expecting: 200)
            }
            let refusal = try await put(hub, "one-more", body)
            #expect(refusal.status == 403)
            #expect(refusal.error?.detail.contains("at most 100 publishers") == true)
            try await put(hub, "p7", body, expecting: 200)
            hub.clock.advance(by: 7 * 86_400 + 1)
            try await put(hub, "one-more", body, expecting: 200)
            let left = try await list(hub)
            #expect(left.map(\.publisher) == ["one-more"])
        }
    }

    @Test func `an invalid report is refused`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let many = try Self.report { report in
                report.feeds = (0...PublisherReport.maximumFeeds).map {
                    PublisherReport.Feed(category: "W", url: "\($0)", state: "well")
                }
            }
            for body in [
                "", "[]", "{}", #"{"schedule":"daily"}"#, many, try Self.report { $0.lastPass = "yesterday" },
                try Self.report { $0.version = "a\u{1B}[2J" }, try Self.report { $0.feeds[0].error = "a\u{202E}b" },
                try Self.report { $0.feeds[0].title = String(repeating: "x", count: 2_001) },
                try Self.report { $0.omittedFeeds = -1 }, try Self.report { $0.omittedFeeds = .max },
                try Self.report { $0.outbox = .max }, try Self.report { $0.exitCode = .min },
                try Self.report { $0.feeds[0].entries?[0].judgedAt = "today" },
                try Self.report { $0.feeds[0].lastPoll = "now" }, try Self.report { $0.feeds[0].polls = "r1\n" },
                try Self.report { $0.pollHours = PollHours(start: "now") },
                try Self.report { report in
                    report.pollHours = PollHours(start: "2030-03-16T00:00:00Z")
                    report.pollHours?.failed = [1]
                },
                try Self.report { report in
                    report.handled = (0...Int64(PublisherRequest.maximumCount)).map { .init(number: $0, outcome: "x") }
                },
                try Self.report { $0.handled = [.init(number: 1, outcome: "a\u{1B}b")] },
                try Self.report { $0.feeds[0].entries?[0].message = "a\u{0}b" },
                try Self.report { report in
                    let entry = PublisherReport.Entry(title: "a", state: "sent", reason: "sent")
                    report.feeds[1].entries = Array(repeating: entry, count: PublisherReport.maximumEntries + 1)
                },
                try Self.report {
                    $0.feeds[1].entries = [PublisherReport.Entry(title: "a\nb", state: "sent", reason: "sent")]
                },
            ] {
                try await put(hub, "a", body, expecting: 400)
            }
            let large = try Self.report { $0.version = String(repeating: "x", count: PublisherReport.maximumBytes) }
            try await put(hub, "a", large, expecting: 413)
            try await put(hub, "a%0Ab", Self.report(), expecting: 400)
            let publishers = try await list(hub)
            #expect(publishers.isEmpty)
        }
    }

    @Test func `metrics tell of publishers`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await put(hub, "a", Self.report(), expecting: 200)
            hub.clock.advance(by: 90)
            let metrics = try await hub.metrics()
            let labels = "{hub=\"news\",publisher=\"a\",schedule=\"watch\"}"
            #expect(metrics["newswire_publisher_last_report_seconds\(labels)"] == 90)
            #expect(metrics["newswire_publisher_reported_feeds\(labels)"] == 2)
            #expect(metrics["newswire_publisher_reported_failed_feeds\(labels)"] == 1)
            #expect(metrics["newswire_publisher_reported_outbox\(labels)"] == 3)
        }
    }
}
