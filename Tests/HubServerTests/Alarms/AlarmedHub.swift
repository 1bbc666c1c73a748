import Alarms
import Foundation
import HubProtocol
import HubRouting
import HubStore
import Testing

@testable import HubServer

/// What tests of alarms do with a hub whose alarms go to the tag `ops`.
extension TestHub {
    static let alarmTag = "ops"

    static func runAlarmed<Output: Sendable>(
        _ scratch: Scratch,
        clock: TestClock = TestClock(),
        configure: (inout HubConfiguration) throws -> Void = { _ in },
        _ body: (TestHub) async throws -> Output
    ) async throws -> Output {
        let tag = try Tag(alarmTag)
        var result: Result<Void, any Error> = .success(())
        return try await run(scratch, clock: clock) { configuration in
            configuration.alarmTag = tag
            configuration.alarmRules.silences = ["World": .seconds(3_600)]
            result = Result { try configure(&configuration) }
        } _: { hub in
            try result.get()
            return try await body(hub)
        }
    }

    /// Lets time pass on both clocks, and looks every few minutes.
    func pass(minutes: Int, every step: Int = 5, each: () async throws -> Void = {}) async throws {
        for _ in 0..<minutes / step {
            clock.advance(by: Double(step) * 60)
            try await each()
            await service.alarms.look()
        }
    }

    func alarms() async throws -> AlarmList {
        let reply = try await send("GET", "alarms", as: full)
        try #require(reply.status == 200, "\(reply.body)")
        return try JSONDecoder().decode(AlarmList.self, from: Data(reply.body.utf8))
    }

    /// The titles of the messages that were sent of alarms, oldest first.
    func notices() async throws -> [String] {
        var titles: [String] = []
        for message in try await newest("?last=100").reversed() where message.tags == Self.alarmTag {
            let stored = try #require(
                try await hub.store.message(hub: hub.record.id, id: message.id, through: hub.status.head)
            )
            let properties = try MessageProperties(json: stored.logged.record.body)
            titles.append(properties[.title] ?? "")
        }
        return titles
    }

    /// Reports as a publisher that stays.
    func report(_ publisher: String = "desk", failing: [(url: String, since: Date)] = []) async throws {
        let now = Timestamp(clock.now).wholeSecond
        let feeds = failing.map { url, since in
            var feed = PublisherReport.Feed(category: "World", url: url, state: "failing")
            feed.failingSince = ISODateTime.formatSeconds(since)
            return feed
        }
        let report = PublisherReport(schedule: .watch, lastPass: now, exitCode: 0, outbox: 0, feeds: feeds)
        let body = String(decoding: try JSONEncoder.sorted.encode(report), as: UTF8.self)
        let reply = try await send("PUT", "publishers/\(publisher)", as: full, body)
        try #require(reply.status == 200, "\(reply.body)")
    }
}
