import Foundation
import HubClient
import HubProtocol
import OutboundHTTP
import Testing

@testable import AppBackend

/// Registering as the tutorials' apps do.
@Suite struct RegisterClientTests {
    private static let handle = "62BCD348A0F1"

    @Test func `an id is one JSON string and nothing else`() async throws {
        try await TestBackend.run { backend, _ in
            for target in ["/api/register", "/api/register?handle=", "/API/Register?HANDLE=\(Self.handle)"] {
                let reply = try await backend.send("POST", target, as: "ann")
                #expect(reply.status == 200)
                let id = try #require(try? RegistrationID(String(reply.body.dropFirst().dropLast())), "\(reply.body)")
                #expect(reply.body == "\"\(id)\"")
                #expect(reply.headers["Content-Type"] == "application/json; charset=utf-8")
            }
        }
    }

    @Test(arguments: RegisterClient.Variant.allCases)
    func `a device registers, with the tag of its user, and registers again`(variant: RegisterClient.Variant)
        async throws
    {
        try await TestBackend.run { backend, hub in
            var app = RegisterClient(backend, variant, as: "Ann")
            try await app.register(Self.handle, tags: ["World"])
            let id = try #require(app.stored)
            var made = try #require(try await hub.registrations("username:ann").first)
            #expect(made.id.text == id && made.platform == .apns && made.pushChannel == .handle(Self.handle))
            #expect(made.tags.map(\.text) == ["World", "username:ann"], "the name in small letters")
            try await app.register("AA", tags: ["Sports"])
            made = try #require(try await hub.registrations().first)
            #expect(app.stored == id && made.id.text == id && made.pushChannel == .handle("AA"))
            #expect(made.tags.map(\.text) == ["Sports", "username:ann"])
            #expect(try await hub.registrations().count == 1)
        }
    }

    @Test(arguments: RegisterClient.Variant.allCases)
    func `an id that nobody knows is gone, and then registers all the same`(
        variant: RegisterClient.Variant
    ) async throws {
        try await TestBackend.run { backend, hub in
            for stored in ["123-234-1", "from another server", "5"] {
                var app = RegisterClient(backend, variant, as: "ann")
                app.stored = stored.replacing(" ", with: "%20")
                try await app.register(Self.handle)
                #expect(try await hub.registrations("username:ann").count == 1, "\(stored)")
                try await app.register(Self.handle)
                let reply = try await backend.send("DELETE", "/api/register/\(app.stored ?? "")", as: "ann")
                #expect(reply.status == 200 && reply.body.isEmpty)
                #expect(try await hub.registrations().isEmpty, "\(stored)")
            }
        }
    }

    @Test(arguments: RegisterClient.Variant.allCases)
    func `an id whose registration the hub has ended is gone, and then registers all the same`(
        variant: RegisterClient.Variant
    ) async throws {
        try await TestBackend.run { backend, hub in
            var app = RegisterClient(backend, variant, as: "ann")
            try await app.register(Self.handle)
            let first = try #require(app.stored)
            try await hub.expire(RegistrationID(first))
            try await app.register(Self.handle)
            #expect(try await hub.registrations("username:ann").count == 1)
            #expect((app.stored == first) == (variant == .keeping))
            try await app.register(Self.handle)
            #expect(try await hub.registrations().count == 1)
        }
    }

    @Test func `the app of one device gets the same id for its handle, in either case of letters`() async throws {
        try await TestBackend.run { backend, hub in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register(Self.handle)
            let id = app.stored
            for handle in [Self.handle, Self.handle.lowercased()] {
                let reply = try await backend.send("POST", "/api/register?handle=\(handle)", as: "ann")
                #expect(reply.body == "\"\(id ?? "")\"")
            }
            let other = try await backend.send("POST", "/api/register?handle=\(Self.handle)", as: "bob")
            #expect(other.status == 200 && other.body != "\"\(id ?? "")\"", "another user's is not given away")
            #expect(try await hub.registrations().map(\.id.text) == [id])
        }
    }

    @Test func `of several registrations for one handle the first stays, if they were made here by this user`()
        async throws
    {
        try await TestBackend.run { backend, hub in
            let foreign = Registration(id: .random(), platform: .apns, pushChannel: .handle(Self.handle))
            try await hub.client.put(foreign)
            var ids: [String] = []
            for (user, handle) in [("ann", Self.handle), ("ann", Self.handle), ("ann", Self.handle), ("bob", "AA")] {
                var app = RegisterClient(backend, .forgetting, as: user)
                let reply = try await backend.send("POST", "/api/register", as: user)
                app.stored = String(reply.body.dropFirst().dropLast())
                try await app.register(handle)
                ids.append(try #require(app.stored))
            }
            #expect(try await hub.registrations().count == 5)
            let reply = try await backend.send("POST", "/api/register?handle=\(Self.handle)", as: "ann")
            #expect(reply.body == "\"\(ids[0])\"")
            let left = Set(try await hub.registrations().map(\.id.text))
            #expect(left == [ids[0], ids[3], foreign.id.text])
        }
    }

    @Test func `a registration that the hub has lost is not given out again`() async throws {
        try await TestBackend.run { backend, hub in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register(Self.handle)
            let first = try #require(app.stored)
            try await hub.client.delete(RegistrationID(first))
            app.stored = nil
            try await app.register(Self.handle)
            #expect(app.stored != first)
            #expect(try await hub.registrations("username:ann").map(\.id.text) == [app.stored])
        }
    }

    @Test(arguments: [
        ("apns", "62BC"), ("gcm", "dX:APA91b-_"), ("FcmV1", "dX:APA91b-_"), ("WNS", "https://x.example/?token=a%2bb"),
        ("mpns", "https://x.example/c"),
        ("browser", #"{\"endpoint\":\"https://x.example/c\",\"p256dh\":\"BA\",\"auth\":\"CA\"}"#),
    ])
    func `every platform registers`(platform: String, handle: String) async throws {
        try await TestBackend.run { backend, hub in
            let id = try await backend.send("POST", "/api/register", as: "ann").body.dropFirst().dropLast()
            let body = #"{"platform":"\#(platform)","HANDLE":"\#(handle)"}"#
            let reply = try await backend.send("PUT", "/api/register/\(id)", as: "ann", body)
            #expect(reply.status == 200 && reply.body.isEmpty, "\(reply.body)")
            let made = try #require(try await hub.registrations().first)
            #expect(made.platform == Platform(rawValue: platform) && made.tags.map(\.text) == ["username:ann"])
        }
    }

    @Test func `browsers may send their subscription as an object, as pages have it`() async throws {
        try await TestBackend.run { backend, hub in
            let id = try await backend.send("POST", "/api/register", as: "ann").body.dropFirst().dropLast()
            let handle = #"{"endpoint":"https://x.example/c","keys":{"p256dh":"BA","auth":"CA"},"expirationTime":null}"#
            let body = #"{"Platform":"browser","Handle":\#(handle)}"#
            #expect(try await backend.send("PUT", "/api/register/\(id)", as: "ann", body).status == 200)
            let channel = try #require(try await hub.registrations().first).pushChannel
            #expect(
                channel == .browser(BrowserPushChannel(endpoint: "https://x.example/c", p256dh: "BA", auth: "CA"))
            )
        }
    }

    @Test func `a request merges a hundred registrations of a handle, and the next request the others`() async throws {
        try await TestBackend.run { backend, _ in
            let store = backend.store
            let handle = HandleDigest(.handle("AA"))
            let at = Timestamp(Date())
            try await store.changeDevices { table in
                for number in 1...UserDevices.maximumMerged + 2 {
                    let key = DeviceKey(kind: .registration, id: "1-1-\(number)")
                    let holder = RegisteredDevice.Holder(user: "ann", handle: handle)
                    try table.want(holder, of: key, at: at)
                    try table.settle(holder, of: key, at: at)
                }
            }
            for left in [2, 0] {
                #expect(try await backend.send("POST", "/api/register?handle=AA", as: "ann").status == 200)
                let found = try await store.readDevices { try $0.registrations(of: "ann", handle: handle) }
                #expect(found.count { $0.isRegistered } == left)
            }
        }
    }
}
