import Foundation
import HubProtocol
import HubRouting
import StreamProbe
import Testing

@testable import HubServer

/// What a message's telemetry says, at once after the send (protocol document §5.6).
struct TelemetryTests {
    private static let head =
        #"<NotificationDetails xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">"#

    @Test func `telemetry of a native send is there at once, byte for byte`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for number in 0..<2 { try await hub.install("phone\(number)", handle: "AA0\(number)", tags: ["World"]) }
            let id = try await hub.send(format: "apple", #"{"aps":{"alert":"a<b"}}"#, tags: "World")
            let reply = try await hub.send("GET", "messages/\(id)?api-version=2020-06", as: hub.full)
            #expect(reply.status == 200)
            #expect(reply.headers["content-type"] == "application/xml; charset=utf-8")
            let errors = try #require(NotificationDetails(xml: reply.body)?.errorDetailsURI)
            #expect(errors.hasPrefix("https://h/news/messages/\(id)/errordetails?sr="))
            #expect(
                reply.body == Self.head
                    + "<NotificationId>\(id)</NotificationId><Location>https://h/news/messages/\(id)?api-version=2020-06</Location>"
                    + "<State>Abandoned</State><EnqueueTime>2030-03-17T17:46:40Z</EnqueueTime>"
                    + "<StartTime>2030-03-17T17:46:40Z</StartTime><EndTime>2030-03-17T17:46:40Z</EndTime>"
                    + "<NotificationBody>{\"aps\":{\"alert\":\"a&lt;b\"}}</NotificationBody><Tags>World</Tags>"
                    + "<TargetPlatforms>apple</TargetPlatforms>"
                    + "<ApnsOutcomeCounts><Outcome><Name>AbandonedNotificationMessages</Name><Count>2</Count></Outcome></ApnsOutcomeCounts>"
                    + "<PnsErrorDetailsUri>\(errors.replacing("&", with: "&amp;"))</PnsErrorDetailsUri>"
                    + "</NotificationDetails>"
            )
        }
    }

    @Test func `what matches nobody found no target`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.install("phone", handle: "AA", tags: ["World"])
            for format in ["gcm", "template"] {
                let body = #"{"a":"b"}"#
                let id = try await hub.send(format: format, body, tags: format == "gcm" ? "World" : "Sports")
                let details = try await hub.details(id)
                #expect(details.state == .noTargetFound && details.outcomes.isEmpty, "\(format)")
                #expect(details.targetPlatforms == [format])
            }
        }
    }

    @Test func `a template message counts what streams were written and what phones were not`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agents = ["open", "away"].map { Agent($0, tags: ["World"]) }
            for agent in agents { try await hub.register(agent) }
            try await hub.install("phone", handle: "AA", tags: ["World"])
            let stream = try hub.probe(agents[0])
            try await hub.settle([stream])
            let id = try await hub.send(format: "template", #"{"title":"x"}"#, tags: "World")
            try await hub.settle([stream])
            var details = try await hub.details(id)
            #expect(details.state == .abandoned, "the phone will not get it; an agent that is away changes no state")
            #expect(details.outcomes == [.stream: [.success: 1], .apns: [.abandoned: 1]])
            #expect(details.targetPlatforms == ["appletemplate", "streamtemplate"])
            let late = try hub.probe(agents[1])
            try await hub.settle([late])
            details = try await hub.details(id)
            #expect(details.state == .abandoned && details.outcomes[.stream] == [.success: 2])
            try await hub.hub.installations.delete(InstallationID("away"), grant: hub.manageGrant, channel: nil)
            #expect(try await hub.details(id).outcomes[.stream] == [.success: 1, .unknownError: 1])
        }
    }

    @Test func `what an agent did not come for in time is given up`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            try await hub.register(Agent("away"))
            let id = try await hub.send(format: "stream", #"{"title":"x"}"#)
            #expect(try await hub.details(id).state == .completed)
            #expect(try await hub.details(id).outcomes.isEmpty)
            clock.advance(by: 72 * 3_600)
            let details = try await hub.details(id)
            #expect(details.state == .completed && details.outcomes == [.stream: [.abandoned: 1]])
        }
    }

    @Test func `a notification that a platform cannot take is reported, not refused`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.install("phone", handle: "AA", tags: [])
            func body(_ bytes: Int) -> String { "{\"a\":\"" + String(repeating: "x", count: bytes - 8) + "\"}" }
            func outcome(_ bytes: Int, _ headers: [String: String] = [:]) async throws -> [OutcomeName: Int]? {
                let id = try await hub.send(format: "apple", body(bytes), headers: headers)
                return try await hub.details(id).outcomes[.apns]
            }
            #expect(try await outcome(4_096) == [.abandoned: 1])
            #expect(try await outcome(4_097) == [.invalidNotificationSize: 1])
            #expect(try await outcome(5_120, ["apns-push-type": "voip"]) == [.abandoned: 1])
            let refused = try await hub.send(
                "POST",
                "messages",
                as: hub.full,
                headers: [HeaderName.format: "apple"],
                body(65_537)
            )
            #expect(refused.status == 413)
        }
    }

    @Test func `a direct send counts its handles, a repeated one as skipped`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let body =
                "--b\r\nContent-Disposition: inline; name=notification\r\n\r\n{}\r\n--b\r\n"
                + "Content-Disposition: inline; name=devices\r\n\r\n[\"AA\",\"BB\",\"AA\"]\r\n--b--"
            let headers = [HeaderName.format: "fcmv1", "Content-Type": "multipart/mixed; boundary=b"]
            let reply = try await hub.send("POST", "messages/$batch", as: hub.full, headers: headers, body)
            let details = try await hub.details(reply.messageID)
            #expect(details.state == .abandoned)
            #expect(details.outcomes == [.fcmv1: [.abandoned: 2, .skipped: 1]])
            #expect(details.tags == nil && details.targetPlatforms == ["fcmv1"])
            #expect(details.xml.contains("<FcmV1OutcomeCounts>"))
        }
    }

    @Test func `telemetry outlives a restart, and Send may read it`() async throws {
        let scratch = try Scratch()
        let id = try await TestHub.run(scratch) { hub in
            try await hub.install("phone", handle: "AA", tags: [])
            return try await hub.send(format: "apple", "{}", headers: ["apns-topic": "t"])
        }
        try await TestHub.run(scratch) { hub in
            #expect(try await hub.details(id).outcomes == [.apns: [.abandoned: 1]])
            let report = try await hub.report(id)
            #expect(report.headers == ["apns-topic": "t"] && report.format == .apple)
            let unknown = try await hub.send("GET", "messages/none", as: hub.full)
            #expect(unknown.status == 404 && unknown.error?.detail.contains("72 h") == true)
        }
    }

    @Test func `what other limits let in is explained when they are the usual ones again`() async throws {
        let scratch = try Scratch()
        func tags(_ count: Int, _ symbol: String) -> String {
            (0..<count).map { "t\($0)" }.joined(separator: symbol)
        }
        let id = try await TestHub.run(scratch) {
            $0.expressionLimits = TagExpression.Limits(tags: 7, alternatives: 30)
        } _: { hub in
            try await hub.install("phone", handle: "AA", tags: ["t6"])
            for (count, symbol) in [(8, "&&"), (31, "||")] {
                let headers = [HeaderName.format: "apple", HeaderName.tags: tags(count, symbol)]
                for path in ["messages", "recipients"] {
                    let body = #"{"tags":"\#(tags(count, symbol))"}"#
                    let refusal = try await hub.send("POST", path, as: hub.full, headers: headers, body)
                    #expect(refusal.status == 400 && refusal.body.contains("\(count - 1) are allowed"), "\(path)")
                }
            }
            try await hub.send(format: "apple", "{}", tags: tags(7, "&&"))
            return try await hub.send(format: "apple", "{}", tags: tags(30, "||"))
        }
        try await TestHub.run(scratch) { hub in
            let report = try await hub.report(id, "phone")
            #expect(report.matched == ["apns": 1])
            #expect(report.device?.registrations?[0].matches == true)
        }
    }

    // MARK: - Feedback

    @Test func `the feedback container is an address that needs no header, and is empty`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            let reply = try await hub.send("GET", "feedbackcontainer?api-version=2020-06", as: hub.full)
            #expect(reply.status == 200)
            #expect(reply.body.hasPrefix("https://h/news/feedback?sr="))
            let path = String(reply.body.dropFirst("https://h".count))
            let query = "restype=container&comp=list"
            let list = try await hub.send("GET", "\(path)&\(query)", as: nil)
            #expect(list.status == 200 && list.headers["content-type"] == "application/xml; charset=utf-8")
            #expect(
                list.body
                    == #"<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://h/" ContainerName="news"><Blobs/><NextMarker/></EnumerationResults>"#
            )
            #expect(try await hub.send("GET", "feedback?\(query)", as: nil).status == 401)
            let forged = path.replacing("&se=1", with: "&se=2")
            #expect(try await hub.send("GET", forged, as: nil).status == 401)
            let elsewhere = path.replacing("/news/feedback", with: "/news/deliveries")
            #expect(try await hub.send("GET", elsewhere, as: nil).status == 401, "the address opens nothing else")
            #expect(
                try await hub.send("GET", "\(path.replacing("/feedback", with: "/feedbackcontainer"))", as: nil).status
                    == 401
            )
            clock.advance(by: Double(HubRequest.addressLifetime) + 61)
            #expect(try await hub.send("GET", path, as: nil).error?.detail.hasPrefix("ExpiredToken") == true)
        }
    }
}
