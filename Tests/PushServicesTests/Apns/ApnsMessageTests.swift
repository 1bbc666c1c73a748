import Foundation
import HubProtocol
import HubTestServer
import PushServices
import Testing

/// The headers that a message goes out with: the template's or request's, else what its payload says.
@Suite struct ApnsMessageTests {
    struct Case: Sendable {
        var given: [String: String] = [:]
        var body = #"{"aps":{"alert":"Hello"}}"#
        var expected: [String: String] = [:]
    }

    @Test(
        arguments: [
            Case(expected: ["apns-push-type": "alert", "apns-priority": "10", "apns-topic": "org.example.app"]),
            Case(
                body: #"{"aps":{"content-available":1},"id":7}"#,
                expected: ["apns-push-type": "background", "apns-priority": "5"]
            ),
            Case(
                given: ["apns-priority": "10"],
                body: #"{"aps":{"content-available":1}}"#,
                expected: ["apns-push-type": "background", "apns-priority": "5"]
            ),
            Case(
                body: #"{"aps":{"content-available":1,"badge":3}}"#,
                expected: ["apns-push-type": "alert", "apns-priority": "10"]
            ),
            Case(
                given: ["apns-push-type": "voip"],
                expected: ["apns-topic": "org.example.app.voip", "apns-push-type": "voip"]
            ),
            Case(given: ["apns-topic": "org.example.app.voip"], expected: ["apns-push-type": "voip"]),
            Case(
                given: ["apns-push-type": "liveactivity", "apns-topic": "org.example.app", "apns-priority": "5"],
                expected: ["apns-topic": "org.example.app.push-type.liveactivity", "apns-priority": "5"]
            ),
            Case(given: ["apns-collapse-id": "story"], expected: ["apns-collapse-id": "story"]),
            Case(given: ["apns-expiration": "0"], expected: ["apns-expiration": "0"]),
            Case(given: ["apns-topic": "org.example.other"], expected: ["apns-topic": "org.example.other"]),
        ]
    )
    func `headers follow the template, the request, the payload`(example: Case) async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        let credential = ApnsCredentialTests.credential(["Topics": "org.example.other"])
        let service = try ApnsAnswerTests.directory(server).service(for: credential)
        let message = PushMessage(
            format: .apple,
            body: Array(example.body.utf8),
            headers: ForwardedHeaders(values: example.given),
            acceptedAt: Timestamp(Date())
        )
        let id = UUID()
        let outcome = await (try ReadyPush(message, by: service)).send(to: PushTarget(channel: .handle("00AA"), id: id))
        await service.shutdown()
        #expect(ServicePeers.kind(outcome) == "accepted")
        let request = try #require(server.requests.first)
        #expect(request.path == "/3/device/00aa")
        #expect(request.header("apns-id") == id.uuidString.lowercased())
        #expect(request.header("authorization")?.hasPrefix("bearer ") == true)
        for (name, value) in example.expected { #expect(request.header(name) == value, "\(name)") }
    }

    @Test(
        arguments: [
            ([:], "not JSON"), ([:], "[]"), ([:], ""),
            (["apns-push-type": "mdm"], "{}"), (["apns-priority": "7"], "{}"), (["apns-expiration": "soon"], "{}"),
            (["apns-expiration": "-1"], "{}"), (["apns-topic": "com.example.foreign"], "{}"),
            (["apns-collapse-id": String(repeating: "x", count: 65)], "{}"),
            (["apns-push-type": "background", "apns-priority": "10"], "{}"),
            ([:], #"{"aps":{"alert":""# + String(repeating: "x", count: 4_096) + #""}}"#),
        ] as [([String: String], String)]
    )
    func `what APNs cannot take is not sent`(headers: [String: String], body: String) throws {
        let service = try PushServiceDirectory().service(for: ApnsCredentialTests.credential())
        let message = PushMessage(
            format: .apple,
            body: Array(body.utf8),
            headers: ForwardedHeaders(values: headers),
            acceptedAt: 0
        )
        let error = try #require(throws: BadPushMessage.self) { try ReadyPush(message, by: service) }
        #expect(error.isTooLarge == (body.utf8.count > 4_096))
    }

    @Test(arguments: ["", "0", "xyz1", "../../3/device/00", String(repeating: "0", count: 202), "00 ", "００"])
    func `a handle that is not a token is not sent anything`(handle: String) async throws {
        let server = try ScriptedHTTPServer { _ in .status(200) }
        let service = try ApnsAnswerTests.directory(server).service(for: ApnsCredentialTests.credential())
        let push = try ReadyPush(PushMessage(format: .apple, body: Array("{}".utf8), acceptedAt: 0), by: service)
        let outcome = await push.send(to: PushTarget(channel: .handle(handle), id: UUID()))
        #expect(ServicePeers.kind(outcome) == "unsendable")
        #expect(server.requests.isEmpty)
        await service.shutdown()
    }
}
