import Foundation
import HubClient
import HubProtocol
import OutboundHTTP
import Testing

@testable import AppBackend

/// Calls to the hub that are done after the calls that follow them, and several in a row without an answer.
@Suite struct LateCallTests {
    private func put(
        _ backend: TestBackend,
        _ id: String,
        _ handle: String,
        as user: String,
        tag: String = "World"
    ) async throws -> BackendReply {
        let body = #"{"Platform":"apns","Handle":"\#(handle)","Tags":["\#(tag)"]}"#
        return try await backend.send("PUT", "/api/register/\(id)", as: user, body)
    }

    private func installation(_ backend: TestBackend, _ handle: String, as user: String) async throws -> BackendReply {
        let body = #"{"installationId":"pad","platform":"apns","pushChannel":"\#(handle)"}"#
        return try await backend.send("PUT", "/api/installations/pad", as: user, body)
    }

    private func run(_ body: (TestBackend, TestHub, FaultyWay, TestClock) async throws -> Void) async throws {
        let clock = TestClock()
        try await FaultyWay.run {
            $0.clock = clock.backend
        } _: { backend, hub, way in
            try await body(backend, hub, way, clock)
        }
    }

    @Test(arguments: [false, true])
    func `a call that is done late does not give a device back to its former user`(isNew: Bool) async throws {
        try await run { backend, hub, way, clock in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            let reserved = try await backend.send("POST", "/api/register?handle=AA", as: "ann").body
            let id = String(reserved.dropFirst().dropLast())
            app.stored = id
            if !isNew { try await app.register("AA") }
            way.set(.delay)
            #expect(try await put(backend, id, "AA", as: "ann", tag: "Sports").status == 503)
            way.set(nil)
            var reply = try await put(backend, id, "AA", as: "bob")
            #expect(reply.status == 503 && reply.headers["Retry-After"] == "90", "\(reply.body)")
            // Neither is it the way around to register the handle under a new id.
            var other = RegisterClient(backend, .forgetting, as: "bob")
            await #expect(throws: RegisterClient.Failed.self) { try await other.register("AA") }
            #expect(try await hub.registrations("username:bob").isEmpty)
            await way.deliverLate()
            #expect(try await hub.registrations().map(\.tags.last?.text) == ["username:ann"])
            clock.advance(by: LateCalls.longest)
            reply = try await put(backend, id, "AA", as: "bob")
            #expect(reply.status == 200, "\(reply.body)")
            #expect(try await hub.registrations().map(\.tags.last?.text) == ["username:bob"])
        }
    }

    @Test func `the user whose call is late goes on at once`() async throws {
        try await run { backend, hub, way, _ in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register("AA")
            let id = try #require(app.stored)
            way.set(.delay)
            #expect(try await put(backend, id, "BB", as: "ann").status == 503)
            way.set(nil)
            #expect(try await put(backend, id, "BB", as: "ann").status == 200)
            // The first call may still be done, and would put the handle before that back.
            #expect(try await put(backend, id, "CC", as: "ann").status == 503)
            await way.deliverLate()
            #expect(try await hub.registrations().map(\.pushChannel) == [.handle("BB")])
        }
    }

    @Test func `an installation waits for a late call as well`() async throws {
        try await run { backend, hub, way, clock in
            var statuses = [try await installation(backend, "AA", as: "ann").status]
            way.set(.delay)
            statuses.append(try await installation(backend, "AA", as: "ann").status)
            way.set(nil)
            statuses.append(try await installation(backend, "AA", as: "bob").status)
            await way.deliverLate()
            clock.advance(by: LateCalls.longest)
            statuses.append(try await installation(backend, "AA", as: "bob").status)
            #expect(statuses == [200, 503, 503, 200])
            #expect(try await hub.registrations("username:bob").count == 1)
            #expect(try await hub.registrations("username:ann").isEmpty)
        }
    }

    @Test func `a device that is deleted while a call is late stays known until the call cannot be done`() async throws
    {
        try await run { backend, hub, way, clock in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register("AA")
            let id = try #require(app.stored)
            way.set(.delay)
            #expect(try await put(backend, id, "AA", as: "ann").status == 503)
            way.set(nil)
            #expect(try await backend.send("DELETE", "/api/register/\(id)", as: "ann").status == 200)
            #expect(try await hub.registrations().isEmpty)
            await way.deliverLate()
            let ann = try #require(UserName("ann"))
            let error = await #expect(throws: BackendRefusal.self) {
                try await backend.backend.devices.removeAll(of: ann)
            }
            #expect(error?.isTemporary == true)
            clock.advance(by: LateCalls.longest)
            try await backend.backend.devices.removeAll(of: ann)
            #expect(try await hub.registrations().isEmpty)
            let left = try await backend.store.readDevices { try $0.devices(of: "ann") }
            #expect(left.isEmpty)
        }
    }

    @Test func `two lost answers in a row do not forget the user between`() async throws {
        try await run { backend, hub, way, clock in
            var app = RegisterClient(backend, .forgetting, as: "ann")
            try await app.register("AA")
            let id = try #require(app.stored)
            way.set(.lostAnswer)
            #expect(try await put(backend, id, "AA", as: "bob").status == 503)
            way.set(.lostRequest)
            #expect(try await put(backend, id, "AA", as: "cat").status == 503)
            way.set(nil)
            #expect(try await hub.registrations().map(\.tags.last?.text) == ["username:bob"])
            let holders = try await backend.store.readDevices { try $0.devices(of: "bob") }
            #expect(holders.map(\.key.id) == [id], "the device is Bob's or Cat's, and no longer Ann's")
            let formers = try await backend.store.readDevices { try $0.devices(of: "ann") }
            #expect(formers.isEmpty)
            clock.advance(by: LateCalls.longest)
            #expect(try await backend.send("DELETE", "/api/register/\(id)", as: "bob").status == 200)
            #expect(try await hub.registrations().isEmpty)
        }
    }

    @Test func `a change that the hub never made is forgotten when it cannot be made any more`() async throws {
        try await run { backend, hub, way, clock in
            var statuses = [try await installation(backend, "AA", as: "ann").status]
            way.set(.lostRequest)
            statuses.append(try await installation(backend, "AA", as: "bob").status)
            way.set(nil)
            statuses.append(try await installation(backend, "AA", as: "cat").status)
            clock.advance(by: LateCalls.longest)
            statuses.append(try await installation(backend, "AA", as: "cat").status)
            #expect(statuses == [200, 503, 503, 200])
            #expect(try await hub.registrations("username:cat").count == 1)
            let between = try await backend.store.readDevices { try $0.devices(of: "bob") }
            #expect(between.isEmpty)
            way.set(.lostRequest)
            let body = #"{"installationId":"new","platform":"apns","pushChannel":"EE"}"#
            #expect(try await backend.send("PUT", "/api/installations/new", as: "ann", body).status == 503)
            way.set(nil)
            clock.advance(by: LateCalls.longest)
            #expect(try await backend.send("PUT", "/api/installations/new", as: "bob", body).status == 200)
            #expect(try await hub.registrations("username:ann").isEmpty)
        }
    }
}
