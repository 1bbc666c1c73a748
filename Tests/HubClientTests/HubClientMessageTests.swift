import FoundationEssentials
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing

@testable import HubClient

@Suite struct HubClientMessageTests {
    @Test(arguments: [
        ("apple", "{}", "application/json;charset=utf-8", [:]),
        ("windows", "<toast/>", "application/xml;charset=utf-8", ["X-WNS-Type": "wns/toast"]),
        (
            "windows", "<?xml version=\"1.0\" encoding=\"utf-16\"?><tile/>", "application/xml;charset=utf-8",
            ["X-WNS-Type": "wns/tile"]
        ),
        ("windows", "7", "application/octet-stream", ["X-WNS-Type": "wns/raw"]),
        (
            "windowsphone", "<wp:Notification xmlns:wp=\"WPNotification\"><wp:Toast/></wp:Notification>",
            "application/xml;charset=utf-8", ["X-WindowsPhone-Target": "toast", "X-NotificationClass": "2"]
        ),
        (
            "windowsphone", "<wp:Notification xmlns:wp=\"WPNotification\"><wp:Tile/></wp:Notification>",
            "application/xml;charset=utf-8", ["X-WindowsPhone-Target": "token", "X-NotificationClass": "1"]
        ),
        ("windowsphone", "7", "application/xml;charset=utf-8", ["X-NotificationClass": "3"]),
    ])
    func `a native message travels with what tells its kind`(
        format: String,
        body: String,
        type: String,
        headers: [String: String]
    ) async throws {
        let hub = try ScriptedHub { _ in .status(201) }
        _ = try await hub.client.send(OutgoingMessage(Array(body.utf8), format: MessageFormat(rawValue: format)))
        let request = try #require(hub.server.requests.first)
        #expect(request.header("ServiceBusNotification-Format") == format)
        #expect(request.header("Content-Type") == type)
        for (name, value) in headers { #expect(request.header(name) == value, "\(name)") }
        #expect(request.text == body)
    }

    @Test func `a direct message names its handle, in header and query`() async throws {
        let hub = try ScriptedHub { _ in .status(201) }
        _ = try await hub.client.send(OutgoingMessage([0x7B, 0x7D], format: .apple, device: "AA"))
        let request = try #require(hub.server.requests.first)
        #expect(request.query == "api-version=2020-06&direct=true")
        #expect(request.header("ServiceBusNotification-DeviceHandle") == "AA")
        #expect(request.header("ServiceBusNotification-Tags") == nil)
    }

    @Test func `a message is scheduled in UTC, and taken back by its id`() async throws {
        let hub = try ScriptedHub { request in
            switch (request.method, request.path) {
            case ("POST", "/news/schedulednotifications/"):
                .status(201, headers: [("Location", "https://hub/news/schedulednotifications/af14_2-7?x=y")])
            case ("DELETE", "/news/schedulednotifications/af14_2-7"): .status(200)
            default: ScriptedHub.refusal(404, "unknown")
            }
        }
        let message = OutgoingMessage(Array(#"{"a":"b"}"#.utf8), tags: "World", idempotencyKey: "k")
        let id = try await hub.client.schedule(message, at: Date(timeIntervalSince1970: 1_893_553_445))
        #expect(id?.text == "af14_2-7")
        let request = try #require(hub.server.requests.first)
        #expect(request.header("ServiceBusNotification-ScheduleTime") == "2030-01-02T03:04:05Z")
        #expect(request.header("ServiceBusNotification-Tags") == "World" && request.header("Idempotency-Key") == "k")
        #expect(try await hub.client.cancel(try #require(id)))
        #expect(try await !hub.client.cancel(MessageID("other")))
    }

    @Test func `the outcome of a test send is read`() async throws {
        let outcome = NotificationOutcome(
            success: 0,
            failure: 1,
            results: [
                RegistrationResult(
                    applicationPlatform: "apple",
                    pnsHandle: "AA",
                    registrationID: "1-2-3",
                    outcome: "no"
                )
            ]
        )
        let hub = try ScriptedHub { request in
            request.query.contains("test=true")
                ? .status(201, headers: [("Location", "https://hub/news/messages/m1")], body: outcome.xml)
                : .status(500)
        }
        let (id, known) = try await hub.client.test(OutgoingMessage([0x7B, 0x7D], format: .apple))
        #expect(id?.text == "m1" && known == outcome)
        let silent = try ScriptedHub { _ in .status(201) }
        await #expect(throws: HubError.malformedReply("the outcome of the test send cannot be read")) {
            try await silent.client.test(OutgoingMessage([0x7B, 0x7D]))
        }
    }

    @Test func `telemetry is read where there is some`() async throws {
        var details = NotificationDetails(id: try MessageID("m1"), state: .completed)
        details.outcomes = [.apns: [.success: 2]]
        let xml = details.xml
        let hub = try ScriptedHub { request in
            request.path == "/news/messages/m1" ? .status(200, body: xml) : ScriptedHub.refusal(404, "not yet")
        }
        #expect(try await hub.client.details(of: MessageID("m1")) == details)
        #expect(try await hub.client.details(of: MessageID("m2")) == nil)
    }
}
