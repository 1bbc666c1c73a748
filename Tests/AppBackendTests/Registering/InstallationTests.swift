import Foundation
import HubClient
import HubProtocol
import HubTestServer
import Signals
import Testing

@testable import AppBackend

/// Installations that users register as their own.
@Suite struct InstallationTests {
    private static func json(_ id: String, _ channel: String, platform: String = "apns", _ more: String = "") -> String
    {
        #"{"installationId":"\#(id)","platform":"\#(platform)","pushChannel":"\#(channel)"\#(more)}"#
    }

    private func tags(_ hub: TestHub, _ id: String, _ channel: String = "") async throws -> [String]? {
        try await hub.client.installation(InstallationID(id), comparing: .handle(channel))?.installation.tags
            .map(\.text)
    }

    @Test func `an installation is registered as its caller, changed and deleted`() async throws {
        try await TestBackend.run { backend, hub in
            let path = "/api/installations/phone"
            let template = #","tags":["World"],"templates":{"t":{"body":"{\"aps\":{\"alert\":\"$(messageParam)\"}}"}}"#
            var reply = try await backend.send("PUT", path, as: "Ann", Self.json("phone", "AA", template))
            #expect(reply.status == 200 && reply.body.isEmpty)
            #expect(try await tags(hub, "phone") == ["World", "username:ann"])
            #expect(try await hub.registrations("username:ann").count == 2, "native and template")
            reply = try await backend.send("PUT", path, as: "ann", Self.json("PHONE", "BB"))
            #expect(reply.status == 200)
            #expect(try await hub.registrations("username:ann").map(\.pushChannel) == [.handle("BB")])
            reply = try await backend.send("DELETE", path, as: "ann")
            #expect(reply.status == 200 && reply.body.isEmpty)
            #expect(try await tags(hub, "phone") == nil)
            #expect(try await backend.send("DELETE", path, as: "ann").status == 200)
        }
    }

    @Test func `the next user of the device takes it over, and nobody else does`() async throws {
        try await TestBackend.run { backend, hub in
            let path = "/api/installations/phone"
            let made = try await backend.send("PUT", path, as: "ann", Self.json("phone", "AA"))
            #expect(made.status == 200)
            #expect(try await backend.send("PUT", path, as: "bob", Self.json("phone", "BB")).status == 409)
            #expect(try await backend.send("DELETE", path, as: "bob").status == 200)
            #expect(try await tags(hub, "phone") == ["username:ann"])
            #expect(try await backend.send("PUT", path, as: "bob", Self.json("phone", "aa")).status == 200)
            #expect(try await tags(hub, "phone") == ["username:bob"])
            #expect(try await backend.send("PUT", path, as: "ann", Self.json("phone", "CC")).status == 409)
        }
    }

    @Test func `what was registered at the hub itself is adopted by its own device only`() async throws {
        try await TestBackend.run { backend, hub in
            let secret = PushChannelSecret.random()
            let agent = Installation(
                id: try InstallationID("desk"),
                platform: .stream,
                pushChannel: .handle(secret.text),
                tags: [try Tag("World")]
            )
            try await hub.client.put(agent)
            let phone = Installation(id: try InstallationID("phone"), platform: .apns, pushChannel: .handle("AA"))
            try await hub.client.put(phone)

            let thief = Self.json("desk", PushChannelSecret.random().text, platform: "stream")
            #expect(try await backend.send("PUT", "/api/installations/desk", as: "bob", thief).status == 409)
            let wrong = Self.json("phone", "BB")
            #expect(try await backend.send("PUT", "/api/installations/phone", as: "bob", wrong).status == 409)
            let other = Self.json("desk", "AA")
            #expect(try await backend.send("PUT", "/api/installations/desk", as: "bob", other).status == 409)
            let found = try await hub.client.installation(agent.id, comparing: .handle(secret.text))
            #expect(found?.hasSameChannel == true && found?.installation.tags.map(\.text) == ["World"])

            let own = Self.json("desk", secret.text, platform: "stream", #","tags":["Sports"]"#)
            #expect(try await backend.send("PUT", "/api/installations/desk", as: "ann", own).status == 200)
            #expect(try await tags(hub, "desk") == ["Sports", "username:ann"])
            let same = Self.json("phone", "aa")
            #expect(try await backend.send("PUT", "/api/installations/phone", as: "ann", same).status == 200)
            #expect(try await tags(hub, "phone") == ["username:ann"])
        }
    }

    @Test func `who knows the id of another's installation cannot keep its owner from changing it`() async throws {
        try await TestBackend.run { backend, hub in
            let path = "/api/installations/phone"
            let made = try await backend.send("PUT", path, as: "ann", Self.json("phone", "AA"))
            #expect(made.status == 200)
            let (turns, key) = (backend.backend.devices.turns, DeviceKey(kind: .installation, id: "phone"))
            let (isHeld, gate) = (Gate(), Gate())
            let holder = Task {
                try await turns.pass(key) {
                    isHeld.open()
                    await gate.opened()
                }
            }
            await isHeld.opened()
            let put = try await backend.send("PUT", path, as: "bob", Self.json("phone", "BB"))
            let deletion = try await backend.send("DELETE", path, as: "bob")
            #expect(put.status == 409 && deletion.status == 200)
            #expect(turns.waitingCount(key) == 0)
            gate.open()
            try await holder.value
            #expect(try await tags(hub, "phone") == ["username:ann"])
        }
    }

    @Test func `the body's id is that of the path`() async throws {
        try await TestBackend.run { backend, _ in
            let reply = try await backend.send("PUT", "/api/installations/a", as: "ann", Self.json("b", "AA"))
            #expect(reply.status == 400)
            for id in ["a%20b", "%00", String(repeating: "x", count: 121)] {
                let reply = try await backend.send("PUT", "/api/installations/\(id)", as: "ann", Self.json("b", "AA"))
                #expect(reply.status == 400, "\(id)")
                #expect(try await backend.send("DELETE", "/api/installations/\(id)", as: "ann").status == 200)
            }
        }
    }

    @Test func `the device that registered longest ago makes room for one too many`() async throws {
        let clock = TestClock()
        try await TestBackend.run {
            $0.clock = clock.backend
        } _: { backend, hub in
            let devices = backend.backend.devices
            #expect(
                try await backend.send("PUT", "/api/installations/i0", as: "ann", Self.json("i0", "AA")).status == 200
            )
            let at = Timestamp(clock.date + 1)
            try await devices.store.changeDevices { table in
                for number in 1..<UserDevices.maximumDevices {
                    let key = DeviceKey(kind: .registration, id: "1-1-\(number)")
                    let holder = RegisteredDevice.Holder(user: "ann", handle: HandleDigest(.handle("\(number)")))
                    try table.want(holder, of: key, at: at)
                    try table.settle(holder, of: key, at: at)
                }
            }
            clock.advance(by: .seconds(2))
            #expect(
                try await backend.send("PUT", "/api/installations/i0", as: "ann", Self.json("i0", "AB")).status == 200
            )
            #expect(try await tags(hub, "i0") == ["username:ann"], "what is there needs no room")
            #expect(
                try await backend.send("PUT", "/api/installations/i1", as: "ann", Self.json("i1", "AC")).status == 200
            )
            let left = try await devices.store.readDevices { try $0.devices(of: "ann") }
            #expect(left.count == UserDevices.maximumDevices)
            #expect(!left.contains { $0.key.id == "1-1-1" } && left.contains { $0.key.id == "i0" })
            // So does a device that the user takes over.
            #expect(
                try await backend.send("PUT", "/api/installations/i2", as: "bob", Self.json("i2", "AD")).status == 200
            )
            #expect(
                try await backend.send("PUT", "/api/installations/i2", as: "ann", Self.json("i2", "AD")).status == 200
            )
            let taken = try await devices.store.readDevices { try $0.devices(of: "ann") }
            #expect(taken.count == UserDevices.maximumDevices && taken.contains { $0.key.id == "i2" })
        }
    }
}
