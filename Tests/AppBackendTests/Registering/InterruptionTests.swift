import Foundation
import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import Testing

@testable import AppBackend

/// What is left when a call to the hub fails, or its answer is lost.
@Suite struct InterruptionTests {
    private func put(_ backend: TestBackend, _ id: String, _ handle: String, as user: String) async throws
        -> BackendReply
    {
        let body = #"{"Platform":"apns","Handle":"\#(handle)"}"#
        return try await backend.send("PUT", "/api/register/\(id)", as: user, body)
    }

    @Test func `a hub that cannot be reached is 503 with a time to wait`() async throws {
        let hub = try ScriptedHTTPServer { _ in .hangUp }
        let string = try ConnectionString(endpoint: hub.baseURL, keyName: "Full", key: "k")
        let http = OutboundClient(userAgent: "newswire-test/1")
        let client = try HubClient(connection: string, hub: HubName("news"), http: http)
        let scratch = try ScratchFolder()
        try await TestBackend.run(client, store: scratch.file("b.sqlite")) { backend in
            let reply = try await backend.send("POST", "/api/register", as: "ann")
            #expect(reply.status == 503 && reply.headers["Retry-After"] == "5", "\(reply.body)")
        }
        await http.shutdown()
    }

    @Test func `another refusal of the hub is 502 with its reason, and a busy hub is 503`() async throws {
        try await FaultyWay.run { backend, hub, way in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register("AA")
            let id = try #require(app.stored)
            for (status, seen) in [(201, 200), (400, 502), (404, 502), (500, 502), (503, 503), (429, 503), (410, 410)] {
                way.set(.refusal(status))
                let reply = try await put(backend, id, "BB", as: "ann")
                #expect(reply.status == seen, "\(status): \(reply.body)")
                #expect((reply.headers["Retry-After"] != nil) == (seen == 503))
                #expect(reply.body.contains("\(status)") == (seen >= 500), "\(reply.body)")
            }
            way.set(nil)
            #expect(try await hub.registrations().map(\.pushChannel) == [.handle("AA")])
        }
    }

    @Test(arguments: [true, false])
    func `a takeover whose answer was lost leaves one user's tag, and both may go on`(isRepeated: Bool) async throws {
        try await FaultyWay.run { backend, hub, way in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register("AA")
            let id = try #require(app.stored)
            way.set(.lostAnswer)
            #expect(try await put(backend, id, "AA", as: "bob").status == 503)
            way.set(nil)
            let taken = try await hub.registrations()
            #expect(taken.first?.tags.map(\.text) == ["username:bob"])
            let user = isRepeated ? "bob" : "ann"
            #expect(try await put(backend, id, "aa", as: user).status == 200)
            let made = try await hub.registrations()
            #expect(made.count == 1 && made.first?.tags.map(\.text) == ["username:\(user)"])
        }
    }

    @Test func `a registration whose answer was lost is found again by its user, and by the next one`() async throws {
        let clock = TestClock()
        try await FaultyWay.run {
            $0.clock = clock.backend
        } _: { backend, hub, way in
            for (first, second) in [("ann", "ann"), ("bob", "cat")] {
                let stored = "7-7-\(first == "ann" ? 1 : 2)"
                #expect(try await put(backend, stored, "AA", as: first).status == 410)
                way.set(.lostAnswer)
                #expect(try await put(backend, stored, "AA", as: first).status == 503)
                way.set(nil)
                #expect(try await put(backend, stored, "AA", as: first).status == 200)
                clock.advance(by: LateCalls.longest)
                way.set(.lostAnswer)
                #expect(try await put(backend, stored, "BB", as: first).status == 503)
                way.set(nil)
                // Under either handle that the hub may have now it is the same device.
                #expect(try await put(backend, stored, "BB", as: second).status == 200)
                let made = try await hub.registrations()
                #expect(made.count == 1 && made.first?.tags.map(\.text) == ["username:\(second)"])
                #expect(try await backend.send("DELETE", "/api/register/\(stored)", as: second).status == 200)
                #expect(try await hub.registrations().isEmpty)
                clock.advance(by: LateCalls.longest)
            }
        }
    }

    @Test(arguments: [true, false])
    func `a user who is removed while a device registers leaves nothing at the hub`(isRepeated: Bool) async throws {
        try await FaultyWay.run { backend, hub, way in
            let ann = try #require(UserName("ann"))
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register("AA")
            let id = try #require(app.stored)
            let store = backend.store
            way.set(.during { try? await Accounts(store: store).remove(ann) })
            #expect(try await put(backend, id, isRepeated ? "AA" : "BB", as: "ann").status == 401)
            #expect(try await hub.registrations().isEmpty)
            let left = try await store.readDevices { try $0.devices(of: "ann") }
            #expect(left.isEmpty)
        }
    }

    @Test func `a refused takeover leaves the device with its user`() async throws {
        try await FaultyWay.run { backend, hub, way in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register("AA")
            let id = try #require(app.stored)
            way.set(.refusal(400))
            #expect(try await put(backend, id, "AA", as: "bob").status == 502)
            way.set(nil)
            #expect(try await put(backend, id, "BB", as: "bob").status == 410, "it is not Bob's")
            #expect(try await put(backend, id, "BB", as: "ann").status == 200)
            #expect(try await hub.registrations("username:ann").map(\.pushChannel) == [.handle("BB")])
        }
    }

    @Test func `two users at one device at once leave one user's tag`() async throws {
        try await TestBackend.run { backend, hub in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register("AA")
            let id = try #require(app.stored)
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<12 {
                    let user = number.isMultiple(of: 2) ? "ann" : "bob"
                    group.addTask { try await put(backend, id, "AA", as: user).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(Set(statuses) == [200])
            let made = try await hub.registrations()
            let tags = try #require(made.first).tags.map(\.text)
            #expect(made.count == 1 && tags.count == 1)
            let holder = try await backend.backend.devices.store.readDevices {
                try $0.device(DeviceKey(kind: .registration, id: id))
            }
            #expect(holder.map { ["username:\($0.holder.user)"] } == tags, "the store and the hub agree")
        }
    }
}
