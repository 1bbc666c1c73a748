import Foundation
import HostSystem
import HubProtocol
import HubTestServer
import Testing

@testable import FeedPublisher

struct HealthReportTests {
    private func document(_ titles: String...) -> FakeSite.Document {
        FakeSite.Document(body: FakeSite.rss(titles.map { FakeSite.Item($0) }))
    }

    /// Makes a pass and reports, as `newswire publish` does.
    @discardableResult
    private func pass(_ room: Newsroom, _ paths: String...) async throws -> PublishReport {
        let store = try room.store()
        defer { try? store.close() }
        var options = PublishOptions()
        options.force = true
        let pass = try room.prepared(room.lists(["World": paths]), store: store, options)
        let report = try await pass.run()
        await pass.reportHealth(after: report)
        return report
    }

    @Test func `a pass tells the hub of its feeds`() async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        try await pass(room, "/a", "/gone")
        let report = try #require(room.hub.reports.first)
        #expect(report.schedule == .pass && report.exitCode == 0 && report.outbox == 0)
        #expect(report.lastPass == ISODateTime.formatSeconds(room.now))
        #expect(report.feeds.map(\.category) == ["World", "World"])
        let (well, failing) = (report.feeds[0], report.feeds[1])
        #expect(well.state == "well" && well.error == nil)
        #expect(well.lastSuccess == ISODateTime.formatSeconds(room.now) && well.nextPoll != nil)
        #expect(failing.state == "failing" && failing.error != nil && failing.failingSince != nil)
        #expect(room.hub.reports.count == 1)
    }

    @Test func `nothing is told without a change until ten minutes are over`() async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        for _ in 1...9 {
            try await pass(room, "/a")
            room.advance(65)
        }
        #expect(room.hub.reports.count == 1)
        room.advance(65)
        try await pass(room, "/a")
        #expect(room.hub.reports.count == 2)
        room.site.set("/a", FakeSite.Document(status: 404))
        room.advance(65)
        try await pass(room, "/a")
        #expect(room.hub.reports.count == 3)
        #expect(room.hub.reports.last?.feeds.first?.state == "failing")
    }

    @Test(arguments: [400, 404, 405, 501])
    func `a hub that does not know the route is asked again after a day`(status: Int) async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        room.hub.answerReports(status)
        for _ in 1...3 {
            let report = try await pass(room, "/a")
            #expect(report.exit == .done)
            room.advance(3_600)
        }
        #expect(room.hub.reportAttempts == 1)
        room.hub.answerReports(200)
        room.advance(86_400)
        try await pass(room, "/a")
        #expect(room.hub.reports.count == 1)
    }

    @Test(arguments: [0, 401, 500, 503])
    func `a report that fails changes nothing, and is tried at the next pass`(status: Int) async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        room.hub.answerReports(status)
        let report = try await pass(room, "/a")
        #expect(report.exit == .done)
        #expect(room.lines() == [])
        room.hub.answerReports(200)
        room.advance(65)
        try await pass(room, "/a")
        #expect(room.hub.reports.count == 1)
    }

    @Test func `a hub that is away is not asked to take a report`() async throws {
        let room = try Newsroom()
        room.site.set("/a", document("one"))
        try await pass(room, "/a")
        room.hub.answer { _ in 503 }
        room.site.set("/a", document("two", "one"))
        room.advance(3_600)
        let attempts = room.hub.reportAttempts
        let report = try await pass(room, "/a")
        #expect(report.exit == .tryLater)
        #expect(room.hub.reportAttempts == attempts)
    }
}
