import Foundation
import HubProtocol
import HubRouting
import Testing

@testable import HubServer

/// Targets that fail without an attempt, each with its reason.
struct FailureReasonTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let platform: Platform
        let format: String
        let reason: String
        var body = #"{"data":{"a":"b"}}"#
        var handle = "AABB"
        var outcome = OutcomeName.abandoned

        var testDescription: String { "\(format), \(body.utf8.count) bytes" }

        static let all = [
            retired(.xiaomi, "xiaomi"), retired(.adm, "adm"),
            retired(.baidu, "baidu", handle: "1-2"),
            Case(
                platform: .mpns,
                format: "windowsphone",
                reason: "this hub does not deliver to platform 'mpns'",
                body: #"<wp:Notification xmlns:wp="WPNotification"><wp:Toast/></wp:Notification>"#,
                handle: "https://phone.example/1"
            ),
            Case(
                platform: .gcm,
                format: "gcm",
                reason: "Google has retired GCM, and this hub does not send its messages through FCM"
            ),
            Case(
                platform: .apns,
                format: "apple",
                reason: "this hub had no credential for platform 'apns' when the message came"
            ),
            Case(
                platform: .apns,
                format: "apple",
                reason: "the body has 4208 bytes, and platform 'apns' accepts at most 4096",
                body: #"{"a":""# + String(repeating: "x", count: 4_200) + #""}"#,
                outcome: .invalidNotificationSize
            ),
        ]

        private static func retired(_ platform: Platform, _ format: String, handle: String = "AABB") -> Case {
            let reason = "this hub does not deliver to platform '\(platform)'"
            return Case(platform: platform, format: format, reason: reason, handle: handle)
        }
    }

    @Test(arguments: Case.all)
    func `a target of a platform without a credential fails with its reason`(_ wanted: Case) async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.register("1-1-1", wanted.platform, .handle(wanted.handle))
            for device in [nil, wanted.handle] {
                let headers = wanted.platform == .mpns ? ["X-WindowsPhone-Target": "toast"] : [:]
                let id = try await hub.send(format: wanted.format, wanted.body, device: device, headers: headers)
                #expect(try await hub.details(id).outcomes == [wanted.platform: [wanted.outcome: 1]])
                let failures = try await hub.failures(id)
                #expect(failures.map(\.reason) == [wanted.reason] && failures[0].handle == wanted.handle)
                #expect(failures.map(\.outcome) == [wanted.outcome.rawValue])
                let report = try await hub.report(id, wanted.handle.replacing("/", with: "%2F"))
                #expect(report.device?.explanation.first?.hasSuffix(": \(wanted.reason)") == true)
            }
            let kind = PushCounters.Outcome(platform: wanted.platform, outcome: wanted.outcome)
            #expect(hub.hub.counters.push.all == [kind: 2])
        }
    }

    @Test func `a scheduled message has reasons, too, and nobody is sent later what came without a credential`()
        async throws
    {
        let service = ScriptedPushService()
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) {
            $0.pushServices = service
        } _: { hub in
            try await hub.install("phone", handle: "AABB", tags: ["World"])
            let reply = try await hub.send(
                "POST",
                "schedulednotifications",
                as: hub.full,
                headers: [HeaderName.format: "apple", HeaderName.scheduleTime: "2030-03-17T18:00:00"],
                "{}"
            )
            clock.advance(by: 3_600)
            let isMore = try await hub.hub.scheduled.releaseDue(at: hub.hub.configuration.timestamp, in: .unshared)
            #expect(!isMore)
            let id = try reply.messageID
            #expect(try await hub.failures(id).map(\.outcome) == [OutcomeName.abandoned.rawValue])
            try await hub.set { $0.credentials = [ScriptedHub.credential] }
            await hub.settlePushes()
            #expect(service.sent.isEmpty)
            #expect(try await hub.details(id).outcomes == [.apns: [.abandoned: 1]])
            #expect(hub.hub.counters.push.all == [.init(platform: .apns, outcome: .abandoned): 1])
        }
    }
}
