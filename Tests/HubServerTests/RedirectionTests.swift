import Foundation
import HubProtocol
import HubRouting
import HubStore
import Testing

@testable import HubServer

/// A holder of Listen learns the id of a device with a reserved tag, and must not get the device's notifications.
struct RedirectionTests {
    private static func windows(handle: String = "https://w/1", tiles: String = "") -> String {
        #"{"installationId":"bob","platform":"wns","pushChannel":"\#(handle)","tags":["World"]\#(tiles)}"#
    }

    private static func tile(_ name: String, _ handle: String) -> String {
        #","secondaryTiles":{"\#(name)":{"pushChannel":"\#(handle)"}}"#
    }

    private func run(_ body: (TestHub) async throws -> Void) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let named = Self.windows(tiles: Self.tile("t", "https://w/2"))
                .replacing(#"["World"]"#, with: #"["World","username:bob"]"#)
            #expect(try await hub.send("PUT", "installations/bob", as: hub.full, named).status == 200)
            try await body(hub)
        }
    }

    @Test func `Listen changes no push channel of an installation with reserved tags`() async throws {
        try await run { hub in
            let bodies = [
                Self.windows(handle: "https://thief/"),
                Self.windows(tiles: Self.tile("t", "https://thief/")),
                Self.windows(tiles: Self.tile("new", "https://thief/")),
                Self.windows().replacing("wns", with: "mpns"),
            ]
            for body in bodies {
                let reply = try await hub.send("PUT", "installations/bob", as: hub.listen, body)
                #expect(reply.status == 401 && reply.body.contains("push channel"), "\(reply.body)")
            }
            for operation in [
                #"{"op":"replace","path":"/pushChannel","value":"https://thief/"}"#,
                #"{"op":"replace","path":"/secondaryTiles/t/pushChannel","value":"https://thief/"}"#,
                #"{"op":"add","path":"/secondaryTiles/new","value":{"pushChannel":"https://thief/"}}"#,
            ] {
                let reply = try await hub.send("PATCH", "installations/bob", as: hub.listen, "[\(operation)]")
                #expect(reply.status == 401, "\(operation): \(reply.body)")
            }
            let stored = try await hub.hub.store.installation(hub: hub.hub.record.id, id: InstallationID("bob"))
            #expect(stored?.installation.pushChannel == .handle("https://w/1"))
            #expect(stored?.installation.secondaryTiles.keys.elementsEqual(["t"]) == true)
            // The device itself registers as before, and changes what is its own.
            let own = Self.windows(tiles: Self.tile("second", "https://w/1")).replacing("World", with: "Sports")
            #expect(try await hub.send("PUT", "installations/bob", as: hub.listen, own).status == 200)
            #expect(try await hub.send("PUT", "installations/bob", as: hub.full, bodies[0]).status == 200, "Manage may")
        }
    }

    @Test func `Listen changes no push channel of a registration with reserved tags`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let bob = try Registration.apple("AA11", tags: ["username:bob"])
            let stored = try await hub.put(bob, as: hub.manageGrant)
            var thief = stored.registration
            thief.pushChannel = .handle("BB22")
            thief.tags = []
            for platform in [Platform.apns, .gcm] {
                thief.platform = platform
                let error = try await #require(throws: ProtocolError.self) { try await hub.put(thief) }
                #expect(error.status == 401)
            }
            thief.platform = .gcm
            thief.pushChannel = .handle("AA11")
            await #expect(throws: ProtocolError.self) { try await hub.put(thief) }
            var own = stored.registration
            own.pushChannel = .handle("aa11")
            own.tags = [try Tag("World")]
            let kept = try await hub.put(own).registration.tags.map(\.text)
            #expect(kept == ["World", "username:bob"], "a device token is the same in either case")
        }
    }

    @Test(arguments: ["$InstallationId:{Desk}", "$userid:{alice}"])
    func `Listen gives a registration no tag of an installation or user`(tag: String) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let thief = try Registration.apple("AA11", tags: [tag])
            let error = try await #require(throws: ProtocolError.self) { try await hub.put(thief) }
            #expect(error.status == 401)
            #expect(try await hub.put(thief, as: hub.manageGrant).registration.tags.count == 1, "Manage may")
        }
    }

    @Test func `Listen finds no device with reserved tags by its push channel`() async throws {
        try await run { hub in
            try await hub.put(try Registration.apple("AA11", tags: ["username:bob"]), as: hub.manageGrant)
            try await hub.put(try Registration.apple("BB22", tags: ["World"]))
            func list(_ filter: String, as rule: AccessRule) async throws -> Reply {
                try await hub.send("GET", "/news/registrations?$filter=\(filter)", as: rule)
            }
            for filter in ["ChannelUri+eq+'https://w/1'", "ChannelUri+eq+'https://w/2'", "DeviceToken+eq+'aa11'"] {
                let reply = try await list(filter, as: hub.listen)
                #expect(reply.status == 401, "\(filter): \(reply.body)")
                #expect(!reply.body.contains("bob"), "\(filter): \(reply.body)")
                #expect(try await list(filter, as: hub.full).status == 200, "Manage may")
            }
            let own = try await list("DeviceToken+eq+'BB22'", as: hub.listen)
            #expect(own.status == 200 && own.body.contains("BB22"))
        }
    }

    @Test func `a list by push channel looks at a bounded number of rows a page, and goes on`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let store = hub.hub.store
            let crowd = HubStore.maximumHandleRows + 1
            let id = hub.hub.record.id
            _ = try await store.commit([
                { @Sendable transaction in
                    for number in 0...crowd {
                        let keys = BrowserPushChannel(
                            endpoint: "https://push.example/one",
                            p256dh: number == crowd ? "mine" : "other\(number)",
                            auth: "a"
                        )
                        let registration = Registration(id: .random(), platform: .browser, pushChannel: .browser(keys))
                        _ = try transaction.put(registration, replacing: nil, hub: id, at: 1)
                    }
                }
            ])
            let filter = "Endpoint+eq+'https://push.example/one'+and+P256DH+eq+'mine'"
            let first = try await hub.send("GET", "/news/registrations?$filter=\(filter)", as: hub.listen)
            let token = try #require(first.headers["x-ms-continuationtoken"], "\(first.body)")
            #expect(first.status == 200 && !first.body.contains("<entry"))
            let second = try await hub.send(
                "GET",
                "/news/registrations?$filter=\(filter)&continuationtoken=\(token)",
                as: hub.listen
            )
            #expect(second.body.contains(">mine<") && second.headers["x-ms-continuationtoken"] == nil, "\(second.body)")
        }
    }
}

extension TestHub {
    @discardableResult
    fileprivate func put(_ registration: Registration, as grant: Grant? = nil) async throws -> StoredRegistration {
        try await hub.registrations.put(registration, if: .none, bytes: 0, grant: grant ?? listenGrant)
    }
}

extension Registration {
    fileprivate static func apple(_ token: String, tags: [String]) throws -> Registration {
        Registration(
            id: .random(),
            tags: try tags.map { try Tag($0) },
            platform: .apns,
            pushChannel: .handle(token)
        )
    }
}
