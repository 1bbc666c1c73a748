import Foundation
import HostSystem
import HubClient
import HubProtocol
import HubServer
import HubTestServer
import Logging
import OutboundHTTP
import SubscriberAgent
import Testing

/// Subscriber agents whose users log in, at a real app backend and hub.
@Suite(.timeLimit(.minutes(10))) struct AgentLoginTests {
    /// One agent in a directory of its own.
    private struct AgentDevice: Sendable {
        let agent: SubscriberAgent
        let output = Output()
        let subscriptions = Counter<Subscription>()
        private let backend: TestBackend

        init(_ folder: ScratchFolder, _ backend: TestBackend, _ hub: TestHub) throws {
            self.backend = backend
            let strings = try hub.service.connectionStrings(endpoint: "http://127.0.0.1:\(hub.port)/")
            let listen = try #require(strings.first { $0.keyName == AccessRule.defaultListenName })
            let directory = try StateDirectory.locate(role: "agent", override: folder.path, environment: [:])
            let silent = AgentReporter(warning: { _ in }, notice: { _ in }, hint: { _ in })
            agent = try SubscriberAgent(
                AgentConfiguration(directory: directory, connection: listen),
                environment: AgentEnvironment(reporter: silent),
                http: backend.http,
                logger: .quiet
            )
        }

        @discardableResult
        func logIn(_ user: String) async throws -> LoginSummary {
            let address = try BackendAddress(parsing: "http://127.0.0.1:\(backend.port)")
            return try await agent.logIn(user: user, password: user, at: address, device: "test")
        }

        /// Listens until so many lines have come.
        func listen(lines: Int) async throws -> [String] {
            let choice = try CategoryChoice(["World"])
            let seen = subscriptions.elements.count
            let task = Task {
                try await agent.subscribe(
                    choosing: choice,
                    handler: .print,
                    output: output,
                    onSubscribed: { subscriptions.append($0) }
                )
            }
            _ = await subscriptions.elements(atLeast: seen + 1)
            let got = await output.lines.elements(atLeast: lines)
            task.cancel()
            _ = try await task.value
            return got
        }
    }

    private struct Output: HandlerOutput {
        let lines = Counter<String>()

        func write(_ bytes: [UInt8], within limit: Duration) async throws(HandlerFailure) {
            lines.append(String(decoding: bytes.dropLast(), as: UTF8.self))
        }
    }

    private func notify(_ name: String, _ text: String, _ backend: TestBackend) async throws {
        let target = "/api/notifications?pns=stream&to_tag=\(name)"
        let reply = try await backend.send("POST", target, as: "desk", "\"\(text)\"")
        try #require(reply.status == 200, "\(reply.body)")
    }

    private func broadcast(_ text: String, _ hub: TestHub) async throws {
        let body = MessageProperties([.title: text, .messageParam: text]).encoded()
        _ = try await hub.client.send(body, tags: nil, idempotencyKey: nil)
    }

    @Test func `a user is notified by name on an agent, beside its categories`() async throws {
        let folder = try ScratchFolder()
        try await TestBackend.run { backend, hub in
            let device = try AgentDevice(folder, backend, hub)
            try await device.logIn("alice")
            _ = try await device.listen(lines: 0)
            #expect(device.subscriptions.elements.last?.user == "alice")
            try await notify("alice", "by name", backend)
            try await notify("bob", "not for her", backend)
            try await broadcast("for all", hub)
            let lines = try await device.listen(lines: 2)
            #expect(lines == ["From desk: by name", "for all"])
            device.agent.close()
        }
    }

    @Test func `an agent that changes hands while messages wait gets none of the former user's`() async throws {
        let folder = try ScratchFolder()
        try await TestBackend.run { backend, hub in
            let device = try AgentDevice(folder, backend, hub)
            try await device.logIn("alice")
            _ = try await device.listen(lines: 0)
            try await notify("alice", "for alice alone", backend)
            let secret = #"{"to":"alice","payload":"for alice alone, too"}"#
            let sent = try await backend.send("POST", "/api/notifications", as: "desk", secret)
            #expect(sent.status == 200)
            let login = try await device.logIn("bob")
            #expect(login.isRegistered == true)
            try await notify("alice", "for alice alone again", backend)
            try await notify("bob", "for bob", backend)
            try await broadcast("for all", hub)
            let lines = try await device.listen(lines: 2)
            #expect(lines == ["From desk: for bob", "for all"])
            let tagged = try await hub.client.recipients(tags: "username:alice", format: .stream)
            #expect(tagged.total == 0)
            device.agent.close()
        }
    }

    @Test func `a logout takes the tag from the hub and the device from the user's list`() async throws {
        let folder = try ScratchFolder()
        try await TestBackend.run { backend, hub in
            let device = try AgentDevice(folder, backend, hub)
            try await device.logIn("alice")
            _ = try await device.listen(lines: 0)
            let before = try await hub.client.recipients(tags: "username:alice", format: .stream)
            #expect(before.total == 1)
            let former = try await device.agent.logOut()
            #expect(former?.user == "alice")
            let after = try await hub.client.recipients(tags: "username:alice", format: .stream)
            #expect(after.total == 0)
            let subscribed = try await hub.client.recipients(tags: "World")
            #expect(subscribed.total == 1, "the categories stay")
            try await notify("alice", "too late", backend)
            try await broadcast("for all", hub)
            let lines = try await device.listen(lines: 1)
            #expect(lines == ["for all"])
            device.agent.close()
        }
    }

    @Test func `the text of a secure notification is fetched and shown, over a restart and a new login`() async throws {
        let folder = try ScratchFolder()
        try await TestBackend.run { backend, hub in
            let device = try AgentDevice(folder, backend, hub)
            try await device.logIn("alice")
            _ = try await device.listen(lines: 0)
            let sent = try await backend.send("POST", "/api/notifications", as: "alice", #""the safe is open""#)
            #expect(sent.status == 200)
            let lines = try await device.listen(lines: 1)
            #expect(lines == ["the safe is open"])
            let rows = try await device.agent.inbox(last: 5)
            #expect(rows.map(\.content.message) == ["the safe is open"])
            device.agent.close()
        }
    }
}
