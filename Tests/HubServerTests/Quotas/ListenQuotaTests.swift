import Foundation
import HubProtocol
import HubRouting
import HubStore
import StreamProbe
import Synchronization
import Testing

@testable import HubServer

/// What a holder of Listen may store.
struct ListenQuotaTests {
    private func usage(_ hub: TestHub) -> ListenUsage { hub.hub.status.listenUsage }

    private static func phone(_ id: String, tags: String = "\"World\"") -> String {
        #"{"installationId":"\#(id)","platform":"apns","pushChannel":"62BC","tags":[\#(tags)]}"#
    }

    @Test func `Listen stores as many installations and registrations as it may, and Manage as many as it wants`()
        async throws
    {
        try await TestHub.run(try Scratch()) {
            $0.listenQuota.count = 2
        } _: { hub in
            #expect(try await hub.put(Agent("a")).status == 200)
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, Self.phone("p")).status == 200)
            let refused = try await hub.put(Agent("c"))
            #expect(refused.status == 403 && refused.error?.code == ProtocolError.Code.listenQuota, "\(refused.body)")
            #expect(refused.headers["retry-after"] == nil && refused.body.contains("listen-registrations"))
            let registration = Registration(id: .random(), platform: .apns, pushChannel: .handle("AA11"))
            let error = try await #require(throws: ProtocolError.self) {
                try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.listenGrant)
            }
            #expect(error.status == 403 && error.code == ProtocolError.Code.listenQuota)
            #expect(try await hub.put(Agent("m"), as: hub.full).status == 200, "Manage is never refused")
            // What is there may change, and what goes makes room.
            let moved = Self.phone("p", tags: #""Sports""#)
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, moved).status == 200)
            #expect(try await hub.send("DELETE", "installations/p", as: hub.listen).status == 204)
            _ = try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.listenGrant)
            #expect(usage(hub).count == 2)
            try await hub.hub.registrations.delete(registration.id, if: .none)
            #expect(usage(hub).count == 1)
        }
    }

    @Test func `what Listen stores is bounded in bytes, and what shrinks is always taken`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.listenQuota.bytes = 40_000
        } _: { hub in
            var large = Agent("a")
            large.templates["large"] = InstallationTemplate(
                body: #"{"a":"\#(String(repeating: "x", count: 5_000))"}"#
            )
            let stored = try await hub.put(large)
            #expect(stored.status == 200)
            let used = usage(hub).bytes
            #expect((20_000...40_000).contains(used), "\(used)")
            var second = Agent("b")
            second.templates = large.templates
            #expect(try await hub.put(second).status == 403)
            #expect(usage(hub).bytes == used, "what is refused is not charged")
            large.templates["large"] = nil
            #expect(try await hub.put(large).status == 200)
            #expect(usage(hub).bytes < 10_000)
            #expect(try await hub.put(second).status == 200)
        }
    }

    @Test func `charges outlive a restart, and end when Manage writes`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a", tags: ["World"])
        let before = try await TestHub.run(scratch) { hub in
            let stored = try await hub.put(agent)
            #expect(stored.status == 200)
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, Self.phone("p")).status == 200)
            #expect(try await hub.put(Agent("m"), as: hub.full).status == 200)
            return usage(hub)
        }
        #expect(before.count == 2)
        try await TestHub.run(scratch) { hub in
            #expect(usage(hub) == before)
            var changed = Agent("a", tags: ["World", "username:ann"])
            changed.secret = agent.secret
            let adopted = try await hub.put(changed, as: hub.full)
            #expect(adopted.status == 200)
            #expect(usage(hub).count == 1, "Manage has written it now")
            #expect(try await hub.send("DELETE", "installations/p", as: hub.full).status == 204)
            #expect(usage(hub) == ListenUsage())
        }
    }

    @Test func `many agents that return at once through one proxy are admitted, and a flood has to wait`()
        async throws
    {
        let clock = TestClock()
        let quota = WriteQuota(WriteLimit(), clock: { clock.monotonic })
        let credential = Credential(rule: "Listen", key: "k")
        let key = QuotaKey(hub: 1, credential: credential, address: nil)
        let listen = Grant(rights: .listen, credential: credential)
        for agent in 0..<10_000 {
            if agent % 200 == 0 { clock.advance(by: 1) }
            try quota.admit(listen, key)
        }
        for _ in 0..<10_000 { try quota.admit(listen, key) }
        var wait: Int?
        for _ in 0..<11_000 where wait == nil {
            do throws(ProtocolError) { try quota.admit(listen, key) } catch { wait = error.retryAfter }
        }
        #expect((1...60).contains(wait ?? 0), "\(wait ?? 0)")
        try quota.admit(Grant(rights: [.listen, .manage], credential: credential), key)
    }

    @Test func `writes beyond their rate are answered with 429 and a time`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.writeLimit.perSecond = 1
        } _: { hub in
            for _ in 0..<WriteLimit.burstSeconds {
                #expect(try await hub.send("DELETE", "installations/x", as: hub.listen).status == 204)
            }
            for (method, path) in [
                ("PUT", "installations/x"), ("PATCH", "installations/x"), ("DELETE", "installations/x"),
                ("POST", "registrations"), ("PUT", "registrations/1-1-1"), ("DELETE", "registrations/1-1-1"),
            ] {
                let reply = try await hub.send(method, path, as: hub.listen, "{}")
                #expect(reply.status == 429 && reply.headers["retry-after"] != nil, "\(method) \(path)")
            }
            #expect(try await hub.send("GET", "installations/x", as: hub.listen).status == 404, "reading is free")
            #expect(try await hub.send("DELETE", "installations/x", as: hub.full).status == 204, "and so is Manage")
        }
    }

    // MARK: - Registry changes

    @Test func `what is made and deleted over and over leaves little, and no message goes for it`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.maximumChangeBytes = 10_000
            $0.writeLimit.perSecond = 10_000
        } _: { hub in
            let away = Agent("away", tags: ["World"])
            try await hub.register(away)
            try await hub.accept("kept", tags: "World")
            for _ in 0..<300 {
                try await hub.register(Agent("x"))
                try await hub.hub.installations.delete(InstallationID("x"), grant: hub.manageGrant, channel: nil)
            }
            let grown = try await hub.hub.store.changeSize()
            #expect(grown.rows <= 302, "one row for each installation that is gone: \(grown)")
            try await hub.service.housekeeping.purge()
            let left = try await hub.hub.store.changeSize()
            #expect(left.bytes <= 10_000 && left.rows < grown.rows, "\(left)")
            let stream = try await hub.stream(away)
            #expect(try await stream.message().title == "kept")
            let metrics = try await hub.send("GET", "/metrics", as: nil).body
            #expect(metrics.contains("newswire_registry_changes \(left.rows)"), "\(metrics)")
            #expect(metrics.contains("newswire_registry_change_limit_bytes 10000"))
        }
    }

    @Test func `a choice that was changed too often is a gap, not a silence`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.maximumChangeBytes = 8_000
        } _: { hub in
            let agent = Agent("a", tags: ["World"])
            try await hub.register(agent)
            try await hub.accept("first", tags: "World")
            for number in 0..<40 {
                var changed = Agent("a", tags: ["t\(number)"])
                changed.secret = agent.secret
                try await hub.register(changed)
                try await hub.accept("other", tags: "nobody")
            }
            try await hub.service.housekeeping.purge()
            #expect(try await hub.hub.store.changeSize().bytes <= 8_000)
            let stream = try await hub.stream(agent)
            let gap = try await stream.named()
            #expect(gap.name == StreamEventName.gap && gap.data.contains("so often"), "\(gap)")
        }
    }
}
