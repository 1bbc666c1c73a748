import FoundationEssentials
import HubProtocol
import HubTestServer
import Testing

@testable import HubClient

@Suite struct HubClientDeviceTests {
    @Test(arguments: [
        "https://hub:8443/news/registrationids/7-42-1?api-version=2020-06", "https://hub/news/registrationids/7-42-1",
    ])
    func `a new registration id is the last segment of the location`(location: String) async throws {
        let hub = try ScriptedHub { _ in .status(201, headers: [("Location", location)]) }
        #expect(try await hub.client.newRegistrationID().text == "7-42-1")
        let request = try #require(hub.server.requests.first)
        #expect((request.method, request.path) == ("POST", "/news/registrationids/"))
    }

    @Test(arguments: [nil, "https://hub/news/registrationids/"])
    func `a hub that gives no id is not believed`(location: String?) async throws {
        let hub = try ScriptedHub { _ in .status(201, headers: location.map { [("Location", $0)] } ?? []) }
        await #expect(throws: HubError.malformedReply("the new registration id is missing")) {
            try await hub.client.newRegistrationID()
        }
    }

    @Test func `a registration travels as an entry that a hub reads back`() async throws {
        let hub = try ScriptedHub { _ in .status(200) }
        let registration = Registration(
            id: try RegistrationID("7-42-1"),
            tags: [try Tag("World"), try Tag("username:ann")],
            platform: .wns,
            pushChannel: .handle("https://x.example/?a=1&b=<2>")
        )
        try await hub.client.put(registration)
        let request = try #require(hub.server.requests.first)
        #expect((request.method, request.path) == ("PUT", "/news/registrations/7-42-1"))
        #expect(request.header("If-Match") == nil, "created, if there is none")
        #expect(try Registration(entry: request.body, id: registration.id) == registration)
    }

    @Test func `an id that is gone is refused with 410`() async throws {
        let hub = try ScriptedHub { _ in ScriptedHub.refusal(410, "The registration is gone") }
        let registration = Registration(id: .random(), platform: .apns, pushChannel: .handle("AA"))
        let error = await #expect(throws: HubError.self) { try await hub.client.put(registration) }
        guard case .refused(410, ProtocolError.Code.gone.number, "The registration is gone", _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
    }

    @Test(arguments: [(200, true), (404, false)])
    func `a registration is deleted whatever its ETag`(status: Int, existed: Bool) async throws {
        let hub = try ScriptedHub { _ in .status(status) }
        #expect(try await hub.client.delete(RegistrationID("7-42-1")) == existed)
        let request = try #require(hub.server.requests.first)
        #expect((request.method, request.path) == ("DELETE", "/news/registrations/7-42-1"))
        #expect(request.header("If-Match") == "*")
    }

    @Test func `an installation's channel is compared where the hub shows it`() async throws {
        let stored = Installation(id: try InstallationID("phone"), platform: .apns, pushChannel: .handle("AB12"))
        let json = stored.encodedJSON(as: .reply)
        let hub = try ScriptedHub { request in
            request.path.hasSuffix("/phone") ? .status(200, body: json) : .status(404)
        }
        let id = try InstallationID("phone")
        #expect(try await hub.client.installation(id, comparing: .handle("ab12"))?.hasSameChannel == true)
        #expect(try await hub.client.installation(id, comparing: .handle("AB13"))?.hasSameChannel == false)
        #expect(try await hub.client.installation(InstallationID("other"), comparing: .handle("AB12")) == nil)
    }

    @Test(arguments: [("true", true), ("false", false), (nil, false)])
    func `an agent's secret is compared by the hub`(answer: String?, isSame: Bool) async throws {
        let secret = PushChannelSecret.random()
        let stored = Installation(id: try InstallationID("desk"), platform: .stream, pushChannel: nil)
        let json = stored.encodedJSON(as: .reply)
        let hub = try ScriptedHub { _ in
            .status(200, headers: answer.map { [("Newswire-Push-Channel-Match", $0)] } ?? [], body: json)
        }
        let found = try await hub.client.installation(InstallationID("desk"), comparing: .handle(secret.text))
        #expect(found?.hasSameChannel == isSame)
        #expect(hub.server.requests.first?.header("Newswire-Push-Channel") == secret.text)
    }

    @Test func `headers of a sender replace those that a body implies`() async throws {
        let hub = try ScriptedHub { _ in .status(201) }
        var message = OutgoingMessage(Array("7".utf8), format: .windows)
        message.headers = [("x-wns-type", "wns/raw"), ("X-WNS-TTL", "60")]
        _ = try await hub.client.send(message)
        let headers = try #require(hub.server.requests.first).headers.map { $0.name.lowercased() }
        #expect(headers.count { $0 == "x-wns-type" } == 1)
        #expect(hub.server.requests.first?.header("X-WNS-TTL") == "60")
    }
}
