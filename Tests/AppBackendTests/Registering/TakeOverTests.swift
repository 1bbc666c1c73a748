import Foundation
import HubClient
import HubProtocol
import Testing

@testable import AppBackend

/// A device that another user signs in on, and ids that are another's.
@Suite struct TakeOverTests {
    private static let handle = "62BCD348A0F1"

    private func put(
        _ backend: TestBackend,
        _ id: String,
        _ handle: String,
        as user: String,
        tags: String = "",
        platform: String = "apns"
    ) async throws -> BackendReply {
        let body = #"{"Platform":"\#(platform)","Handle":"\#(handle)","Tags":[\#(tags)]}"#
        return try await backend.send("PUT", "/api/register/\(id)", as: user, body)
    }

    @Test(arguments: RegisterClient.Variant.allCases)
    func `the next user of a device takes it over, and the former user's tag leaves it`(
        variant: RegisterClient.Variant
    ) async throws {
        try await TestBackend.run { backend, hub in
            var app = RegisterClient(backend, variant, as: "ann")
            try await app.register(Self.handle, tags: ["World"])
            let id = app.stored
            for (user, handle) in [("bob", Self.handle), ("ann", Self.handle.lowercased()), ("Bob", Self.handle)] {
                app.user = user
                try await app.register(handle, tags: ["Sports"])
                let made = try await hub.registrations()
                #expect(app.stored == id && made.map(\.id.text) == [id], "\(user)")
                #expect(made.first?.tags.map(\.text) == ["Sports", "username:\(user.lowercased())"])
            }
            await backend.backend.audit.flush()
            let events = try await Accounts(store: backend.store).audit(limit: 100)
            for (user, what, count) in [
                ("bob", "device taken over", 2), ("ann", "device taken over", 1),
                ("ann", "device lost to another user", 2), ("bob", "device lost to another user", 1),
            ] {
                let event = events.first { $0.who == user && $0.what == what }
                #expect(event?.count == count && event?.network == "127.0.0.0/24", "\(user) \(what)")
            }
        }
    }

    @Test func `the device is taken over through an alias id, too`() async throws {
        try await TestBackend.run { backend, hub in
            var app = RegisterClient(backend, .keeping, as: "ann")
            app.stored = "7-7-7"
            try await app.register(Self.handle)
            app.user = "bob"
            try await app.register(Self.handle)
            let made = try await hub.registrations()
            #expect(made.count == 1 && made.first?.tags.map(\.text) == ["username:bob"])
            app.user = "ann"
            try await app.register(Self.handle)
            let again = try await hub.registrations()
            #expect(again.count == 1 && again.first?.tags.map(\.text) == ["username:ann"])
        }
    }

    @Test func `an id of another device looks like an unknown one, and is then taken without touching that device`()
        async throws
    {
        try await TestBackend.run { backend, hub in
            var phone = RegisterClient(backend, .forgetting, as: "ann")
            try await phone.register(Self.handle)
            let id = try #require(phone.stored)
            let foreign = try await put(backend, id, "AA", as: "bob")
            let unknown = try await put(backend, "1-2-3", "BB", as: "bob")
            #expect(foreign.status == 410 && foreign.body == unknown.body)
            #expect(try await hub.registrations("username:bob").isEmpty)
            for _ in 0..<2 { #expect(try await put(backend, id, "AA", as: "bob").status == 200) }
            #expect(try await hub.registrations("username:bob").map(\.pushChannel) == [.handle("AA")])
            #expect(try await hub.registrations("username:ann").map(\.pushChannel) == [.handle(Self.handle)])
            // Deleting by the same id leaves the other device alone as well.
            #expect(try await backend.send("DELETE", "/api/register/\(id)", as: "bob").status == 200)
            #expect(try await hub.registrations().map(\.id.text) == [id])
        }
    }

    @Test func `two phones with one stored id, one of them restored from the other, do not mix their users`()
        async throws
    {
        try await TestBackend.run { backend, hub in
            var first = RegisterClient(backend, .keeping, as: "ann")
            try await first.register("AA")
            var second = RegisterClient(backend, .keeping, as: "bob")
            second.stored = first.stored
            try await second.register("BB")
            // Ann signs in on the second phone: it must not keep Bob's tag, nor the first one lose its own.
            second.user = "ann"
            try await second.register("BB")
            let made = try await hub.registrations()
            #expect(made.map(\.pushChannel) == [.handle("AA"), .handle("BB")])
            #expect(made.map { $0.tags.map(\.text) } == [["username:ann"], ["username:ann"]])
        }
    }

    @Test func `deleting what is unknown, gone or another's looks like any deletion`() async throws {
        try await TestBackend.run { backend, hub in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register(Self.handle)
            for id in ["1-2-3", "x", app.stored ?? ""] {
                let reply = try await backend.send("DELETE", "/api/register/\(id)", as: "bob")
                #expect(reply.status == 200 && reply.body.isEmpty, "\(id)")
            }
            #expect(try await hub.registrations().count == 1)
            #expect(try await backend.send("DELETE", "/api/register/\(app.stored ?? "")", as: "ann").status == 200)
            #expect(try await hub.registrations().isEmpty)
            try await app.register(Self.handle)
            #expect(try await hub.registrations("username:ann").count == 1, "signing in again works")
        }
    }

    @Test func `a user has at most fifty alias ids, the oldest of which goes with its registration`()
        async throws
    {
        try await TestBackend.run { backend, hub in
            for number in 1...DeviceTable.maximumAliases + 2 {
                let (id, handle) = ("9-9-\(number)", String(format: "%04X", number))
                #expect(try await put(backend, id, handle, as: "ann").status == 410)
                #expect(try await put(backend, id, handle, as: "ann").status == 200)
            }
            let handles = Set(try await hub.registrations("username:ann").map(\.pushChannel.handle))
            #expect(handles.count == DeviceTable.maximumAliases)
            #expect(!handles.contains("0001") && !handles.contains("0002") && handles.contains("0034"))
            #expect(try await put(backend, "9-9-1", "0001", as: "ann").status == 410, "it begins anew")
        }
    }

    @Test func `refused ids are forgotten first, and never with a registration`() async throws {
        try await TestBackend.run { backend, hub in
            for _ in 0..<2 { _ = try await put(backend, "9-9-0", "AA", as: "ann") }
            for number in 1...DeviceTable.maximumAliases + 5 {
                #expect(try await put(backend, "9-9-\(number)", "BB", as: "ann").status == 410)
            }
            #expect(try await hub.registrations("username:ann").map(\.pushChannel) == [.handle("AA")])
            #expect(try await put(backend, "9-9-0", "AA", as: "ann").status == 200)
        }
    }

    @Test func `all devices of a user are deleted at once`() async throws {
        try await TestBackend.run { backend, hub in
            for (user, handle) in [("ann", "AA"), ("ann", "BB"), ("bob", "CC")] {
                var app = RegisterClient(backend, .forgetting, as: user)
                try await app.register(handle)
            }
            let body = #"{"installationId":"pad","platform":"apns","pushChannel":"DD"}"#
            #expect(try await backend.send("PUT", "/api/installations/pad", as: "ann", body).status == 200)
            let ann = try #require(UserName("ANN"))
            try await backend.backend.devices.removeAll(of: ann)
            #expect(try await hub.registrations().map(\.pushChannel) == [.handle("CC")])
            let left = try await backend.backend.devices.store.readDevices { try $0.devices(of: "ann") }
            #expect(left.isEmpty)
        }
    }

    @Test func `a push handle belongs to the user who registers it last, under whatever id`() async throws {
        try await TestBackend.run { backend, hub in
            let installation = #"{"installationId":"pad","platform":"apns","pushChannel":"\#(Self.handle)"}"#
            var ann = RegisterClient(backend, .forgetting, as: "ann")
            try await ann.register(Self.handle)
            var phone = RegisterClient(backend, .forgetting, as: "ann")
            try await phone.register("BB")
            var bob = RegisterClient(backend, .forgetting, as: "bob")
            try await bob.register(Self.handle.lowercased())
            #expect(bob.stored != ann.stored)
            #expect(try await hub.registrations("username:bob").map(\.id.text) == [bob.stored])
            #expect(try await hub.registrations("username:ann").map(\.pushChannel) == [.handle("BB")])
            // The same for an installation, and from an installation.
            #expect(
                try await backend.send("PUT", "/api/installations/pad", as: "cat", installation).status == 200
            )
            #expect(try await hub.registrations("username:bob").isEmpty)
            #expect(try await hub.registrations("username:cat").count == 1)
            try await ann.register(Self.handle)
            #expect(try await hub.registrations("username:cat").isEmpty)
            #expect(try await hub.registrations("username:ann").count == 2)

            await backend.backend.audit.flush()
            let events = try await Accounts(store: backend.store).audit(limit: 100)
            for (user, what) in [
                ("bob", "device taken over"), ("cat", "device taken over"), ("ann", "device taken over"),
                ("ann", "device lost to another user"), ("bob", "device lost to another user"),
                ("cat", "device lost to another user"),
            ] {
                #expect(events.first { $0.who == user && $0.what == what }?.count == 1, "\(user) \(what)")
            }
        }
    }

    @Test func `an id that is refused takes no push handle from anybody`() async throws {
        try await TestBackend.run { backend, hub in
            var ann = RegisterClient(backend, .forgetting, as: "ann")
            try await ann.register(Self.handle)
            #expect(try await put(backend, "1-2-3", Self.handle, as: "bob").status == 410)
            #expect(try await put(backend, "x", Self.handle, as: "bob", tags: #""$x""#).status == 400)
            let reply = try await backend.send("POST", "/api/register?handle=\(Self.handle)", as: "bob")
            #expect(reply.status == 200)
            #expect(try await hub.registrations("username:ann").count == 1)
        }
    }

    @Test func `two users who register one push handle under two ids at once leave one of them`() async throws {
        try await TestBackend.run { backend, hub in
            for round in 1...4 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for user in ["ann", "bob", "cat"] {
                        group.addTask {
                            var app = RegisterClient(backend, .forgetting, as: user)
                            try await app.register("A\(round)")
                        }
                    }
                    try await group.waitForAll()
                }
                let made = try await hub.registrations().filter { $0.pushChannel == .handle("A\(round)") }
                #expect(made.count == 1, "round \(round)")
            }
        }
    }

    @Test func `a push handle that is registered too often is taken bit by bit`() async throws {
        try await TestBackend.run { backend, _ in
            let (store, handle) = (backend.store, HandleDigest(.handle("AA")))
            try await store.changeDevices { table in
                for number in 1...UserDevices.maximumMerged + 2 {
                    let wantedHolder = RegisteredDevice.Holder(user: "ann", handle: handle)
                    let key = DeviceKey(kind: .registration, id: "1-1-\(number)")
                    try table.want(wantedHolder, of: key, at: 0)
                    try table.settle(wantedHolder, of: key, at: 0)
                }
            }
            let path = "/api/installations/pad"
            let body = #"{"installationId":"pad","platform":"apns","pushChannel":"AA"}"#
            #expect(try await backend.send("PUT", path, as: "bob", body).status == 503)
            #expect(try await backend.send("PUT", path, as: "bob", body).status == 200)
            let left = try await store.readDevices { try $0.devices(of: "ann") }
            #expect(left.isEmpty)
        }
    }
}
