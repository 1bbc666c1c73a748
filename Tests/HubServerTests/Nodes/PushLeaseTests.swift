import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices
import Synchronization
import Testing

@testable import HubServer

/// Deliveries of several nodes to push services.
struct PushLeaseTests {
    private func run(_ service: ScriptedPushService, _ body: (TwoNodes) async throws -> Void) async throws {
        try await TwoNodes.run {
            $0.pushServices = service
        } _: { nodes in
            let hub = nodes.a.hub
            try await hub.perform { transaction, _ in
                guard var stored = try transaction.hub(id: hub.record.id) else { throw TestHub.Stopped() }
                stored.description.credentials = [ScriptedHub.credential]
                try transaction.update(stored)
                return ((), [PolicyEffect(stored.policy)])
            }
            try await nodes.a.install("phone", handle: "AABB", tags: ["World"])
            try await nodes.b.service.catchUp()
            for node in [nodes.a, nodes.b] { await node.service.push.settle() }
            try await body(nodes)
        }
    }

    @Test func `a message that any node has accepted is delivered once, and all nodes know`() async throws {
        let service = ScriptedPushService()
        try await run(service) { nodes in
            let id = try await nodes.b.send(format: "template", #"{"title":"Flood"}"#, tags: "World")
            await nodes.b.service.push.settle()
            let lanes = nodes.b.service.push.lanes
            #expect(!lanes.isEmpty && lanes.allSatisfy { $0.term == nil }, "the other node has the duties")
            try await nodes.a.service.catchUp()
            await nodes.a.service.push.settle()
            #expect(service.handles == ["AABB"])
            try await nodes.b.service.catchUp()
            for node in [nodes.a, nodes.b] {
                let report = try await node.report(id)
                #expect(report.state == .completed && report.outcomes == ["apns": ["Success": 1]])
            }
        }
    }

    @Test func `a former holder records nothing, and only pushes in flight are repeated`() async throws {
        let door = Door()
        let arrivals = Mutex(0)
        // The first push waits.
        let service = ScriptedPushService { _ in
            let isFirst = arrivals.withLock { count in
                count += 1
                return count == 1
            }
            if isFirst { await door.opened() }
            return .accepted(id: nil)
        }
        try await run(service) { nodes in
            let (a, b) = (nodes.a, nodes.b)
            let first = try await a.send(format: "template", #"{"title":"first"}"#, tags: "World")
            await service.sent(atLeast: 1)
            try await nodes.takeOver()
            let second = try await b.send(format: "template", #"{"title":"second"}"#, tags: "World")
            await b.service.push.settle()
            // As in a virtual machine that was paused: it follows the log, and its clock has stood still.
            try await a.service.catchUp()
            #expect(service.sent.count == 3, "the push in flight again, and the new message")
            door.open()
            await a.service.push.settle()
            await a.keepLease()
            await a.service.push.settle()
            #expect(a.service.push.lanes.allSatisfy { $0.term == nil })
            _ = try await a.send(format: "template", #"{"title":"third"}"#, tags: "World")
            await a.service.push.settle()
            try await b.service.catchUp()
            await b.service.push.settle()
            #expect(service.sent.count == 4)
            try await a.service.catchUp()
            for node in [a, b] {
                for id in [first, second] {
                    #expect(try await node.report(id).outcomes == ["apns": ["Success": 1]])
                }
            }
        }
    }

    @Test func `a node that takes over delivers what the former one has left`() async throws {
        let service = ScriptedPushService { _ in .retry(after: .seconds(60), "503") }
        try await run(service) { nodes in
            let (a, b) = (nodes.a, nodes.b)
            let id = try await a.send(format: "template", #"{"title":"Flood"}"#, tags: "World")
            await a.service.push.settle()
            #expect(service.sent.count == 1)
            service.answer { _ in .accepted(id: nil) }
            try await nodes.takeOver()
            b.clock.advance(by: 120)
            await b.keepLease()
            await b.service.push.settle()
            #expect(service.sent.count == 2)
            #expect(try await b.report(id).outcomes == ["apns": ["Success": 1]])
            #expect(a.service.lease.term != nil, "it has not learnt of this yet")
        }
    }

    @Test func `a lapsed term pauses deliveries, and a renewal resumes them`() async throws {
        let service = ScriptedPushService()
        try await run(service) { nodes in
            nodes.a.clock.advance(by: 11)
            // The term is renewed a moment later.
            let lane = try #require(nodes.a.service.push.lanes.first)
            _ = try await nodes.a.send(format: "template", #"{"title":"Flood"}"#, tags: "World")
            await nodes.a.keepLease()
            await nodes.a.service.push.settle()
            #expect(nodes.a.service.push.lanes.first === lane, "the same lane continues")
            #expect(service.sent.count == 1)
        }
    }

    @Test func `a test send works at a node without duties`() async throws {
        let service = ScriptedPushService()
        try await run(service) { nodes in
            let reply = try await nodes.b.send(
                "POST",
                "messages?test",
                as: nodes.b.full,
                headers: [HeaderName.format: "apple"],
                #"{"aps":{"alert":"x"}}"#
            )
            #expect(reply.status == 201 && reply.body.contains("AABB"), "\(reply.body)")
            #expect(service.sent.count == 1)
        }
    }
}
