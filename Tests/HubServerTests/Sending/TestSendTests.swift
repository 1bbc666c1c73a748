import Foundation
import HubProtocol
import HubRouting
import StreamProbe
import Testing

@testable import HubServer

/// Test sends, whose answer is what became of them (protocol document §5.2).
struct TestSendTests {
    private func test(
        _ hub: TestHub,
        _ format: String,
        _ body: String,
        query: String = "test",
        headers: [String: String] = [:]
    ) async throws -> (reply: Reply, outcome: NotificationOutcome) {
        let reply = try await hub.send(
            "POST",
            "messages/?\(query)",
            as: hub.full,
            headers: headers.merging([HeaderName.format: format]) { $1 },
            body
        )
        return (reply, try #require(NotificationOutcome(xml: reply.body), "\(reply.status) \(reply.body)"))
    }

    @Test(arguments: ["test", "test=true", "test=", "api-version=2020-06&test", "Test"])
    func `each client's flag brings the outcome of nobody, all elements there`(query: String) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let (reply, _) = try await test(hub, "apple", "{}", query: query)
            #expect(reply.status == 201 && reply.headers["content-type"] == "application/xml; charset=utf-8")
            #expect(
                reply.body
                    == #"<NotificationOutcome xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><Success>0</Success><Failure>0</Failure><Results/></NotificationOutcome>"#
            )
            #expect(try await hub.details(reply.messageID).state == .noTargetFound)
        }
    }

    @Test func `a stream that was written is a success, one that is not open is not`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let (open, away) = (Agent("open", tags: ["World"]), Agent("away", tags: ["World"]))
            for agent in [open, away, Agent("other", tags: ["Sports"])] { try await hub.register(agent) }
            let stream = try await hub.stream(open)
            let (reply, outcome) = try await test(
                hub,
                "template",
                #"{"title":"x"}"#,
                headers: [HeaderName.tags: "World"]
            )
            #expect(outcome.success == 1 && outcome.failure == 1)
            #expect(outcome.results.map(\.pnsHandle) == ["open", "away"])
            #expect(outcome.results.allSatisfy { $0.applicationPlatform == "stream" && $0.registrationID == nil })
            #expect(outcome.results[0].outcome == RegistrationResult.success)
            #expect(outcome.results[1].outcome.contains("is not open"))
            let id = try reply.messageID
            #expect(try await stream.message().id == id)
            // It is owed as any other message.
            let late = try hub.probe(away)
            try await hub.settle([late])
            #expect(late.probe.messages.map(\.id) == [id])
            #expect(try await hub.report(id).isTest == true)
        }
    }

    @Test func `without a credential nothing is sent to a phone, and its outcome says so`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            try await hub.install("phone", handle: "AABB", tags: ["World"])
            let (_, outcome) = try await test(hub, "apple", "{}", headers: [HeaderName.tags: "World"])
            #expect(outcome.success == 0 && outcome.failure == 1)
            let result = try #require(outcome.results.first)
            #expect(result.applicationPlatform == "apple" && result.pnsHandle == "AABB")
            #expect(result.registrationID.map { (try? RegistrationID($0)) != nil } == true)
            #expect(result.outcome == "Nothing was sent: the hub has no usable credential for platform 'apns'.")
        }
    }

    @Test func `at most ten of the matching devices get it, and the others learn why not`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agents = (0..<12).map { Agent("a\($0)", tags: ["World"]) }
            for agent in agents { try await hub.register(agent) }
            let streams = try agents.map { try hub.probe($0) }
            try await hub.settle(streams)
            let (reply, outcome) = try await test(hub, "stream", #"{"title":"x"}"#, headers: [HeaderName.tags: "World"])
            try await hub.settle(streams)
            #expect(outcome.success == 10 && outcome.results.count == 10)
            #expect(streams.map(\.probe.messages.count) == Array(repeating: 1, count: 10) + [0, 0])
            let id = try reply.messageID
            #expect(try await hub.report(id).matched == ["stream": 10])
            let device = try await hub.report(id, "a11").device
            #expect(device?.outcome == .notMatched)
            #expect(device?.explanation[0].contains("not among the 10 targets of the test send") == true)
        }
    }

    @Test func `a direct test send, as .NET makes of every call, is reported by its handle`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            let (_, phone) = try await test(
                hub,
                "apple",
                "{}",
                query: "direct&api-version=2020-06&test",
                headers: [HeaderName.deviceHandle: "AABB"]
            )
            #expect(phone.failure == 1 && phone.results.first?.pnsHandle == "AABB")
            let (_, own) = try await test(
                hub,
                "stream",
                #"{"title":"x"}"#,
                query: "direct&test",
                headers: [HeaderName.deviceHandle: agent.secret.text]
            )
            #expect(own.success == 1 && own.results.first?.pnsHandle == "a", "the secret is told to nobody")
            let (_, nobody) = try await test(
                hub,
                "stream",
                "{}",
                query: "direct&test",
                headers: [HeaderName.deviceHandle: "nobody"]
            )
            #expect(nobody.failure == 1 && nobody.results.first?.outcome.contains("has this handle") == true)
        }
    }

    @Test func `a test call of .NET on anything else is the call without it`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let body = #"{"installationId":"p","platform":"apns","pushChannel":"AA"}"#
            let put = try await hub.send("PUT", "installations/p?api-version=2020-06&test", as: hub.listen, body)
            #expect(put.status == 200)
            #expect(try await hub.send("DELETE", "installations/p?test", as: hub.listen).status == 204)
        }
    }
}
