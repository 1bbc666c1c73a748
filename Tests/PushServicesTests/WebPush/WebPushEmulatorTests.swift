import Crypto
import Foundation
import HubProtocol
import HubTestServer
import PushEmulator
import Testing

@testable import PushServices

/// Against the emulator, over TLS and HTTP/2.
@Suite struct WebPushEmulatorTests {
    private struct Play {
        let emulator: PushEmulator
        let service: WebPushService

        func send(
            _ message: PushMessage = WebPushSender.message(at: Timestamp(Date())),
            to channel: BrowserPushChannel,
            id: UUID = UUID()
        ) async throws -> PushOutcome {
            try await ReadyPush(message, by: service).send(to: PushTarget(channel: .browser(channel), id: id))
        }
    }

    private func run(
        seed: [UInt8]? = nil,
        _ key: P256.Signing.PrivateKey = P256.Signing.PrivateKey(),
        former: [P256.Signing.PrivateKey] = [],
        more: [String: String] = [:],
        _ body: (Play) async throws -> Void
    ) async throws {
        let folder = try ScratchFolder()
        // The client's TLS goes by the real time.
        let clock = WebPushClock(Timestamp(Date()))
        let emulator = try await PushEmulator.start(seed: seed) { clock.now }
        let file = folder.file("ca.pem")
        try Data(emulator.certificateAuthority.utf8).write(to: URL(fileURLWithPath: file))
        let service = try WebPushService(
            WebPushSender.credential(key, former: former, more),
            WebPushSender.surroundings(emulated: emulator.origin, certificateAuthorities: file, clock)
        )
        do {
            try await body(Play(emulator: emulator, service: service))
        } catch {
            await service.shutdown()
            await emulator.stop()
            throw error
        }
        await service.shutdown()
        await emulator.stop()
    }

    @Test func `a message arrives as it was written`() async throws {
        try await run { play async throws in
            let channel = play.emulator.makeBrowserSubscription()
            let outcome = try await play.send(to: channel)
            #expect(outcome.kind.hasPrefix("accepted \(play.emulator.origin)/message/"))
            let inbox = play.emulator.inbox(of: channel.endpoint)
            #expect(inbox.map(\.plaintext) == [.text(Array("{\"title\":\"News\"}".utf8))])
        }
    }

    @Test(arguments: ["", "x", String(repeating: "x", count: 3_993)])
    func `messages of every length are accepted`(_ text: String) async throws {
        try await run { play async throws in
            let channel = play.emulator.makeBrowserSubscription()
            let message = WebPushSender.message(text, ["urgency": "high", "ttl": "60"], at: Timestamp(Date()))
            #expect(try await play.send(message, to: channel).kind.hasPrefix("accepted "))
            #expect(
                play.emulator.inbox(of: channel.endpoint).map(\.plaintext) == [
                    text.isEmpty ? nil : .text(Array(text.utf8))
                ]
            )
        }
    }

    @Test func `a repeat replaces the first, and another message does not`() async throws {
        try await run { play async throws in
            let channel = play.emulator.makeBrowserSubscription()
            let id = UUID()
            for target in [id, id, UUID()] { _ = try await play.send(to: channel, id: target) }
            #expect(Set(play.emulator.inbox(of: channel.endpoint).map(\.collapseKey)).count == 2)
        }
    }

    @Test(arguments: [
        ("dead-", "dead"), ("malformed-", "dead"), ("throttled-", "throttled handle 1"), ("unavailable-", "retry 1"),
        ("broken-", "retry -"), ("badcredential-", "refused sender"), ("wrongtopic-", "bad route"),
    ])
    func `each fault has its outcome`(_ prefix: String, _ kind: String) async throws {
        try await run { play async throws in
            let channel = play.emulator.makeBrowserSubscription(prefix: prefix)
            #expect(try await play.send(to: channel).kind == kind)
        }
    }

    @Test func `a fault that passes is followed by a delivery`() async throws {
        try await run { play async throws in
            let channel = play.emulator.makeBrowserSubscription(prefix: "unavailable-1-")
            #expect(try await play.send(to: channel).kind == "retry 1")
            #expect(try await play.send(to: channel).kind.hasPrefix("accepted "))
        }
    }

    @Test func `a subscription bound to an older key is reached, and one bound to a foreign key is not`() async throws {
        let keys = (0..<3).map { _ in P256.Signing.PrivateKey() }
        try await run(keys[0], former: [keys[1]]) { play async throws in
            for key in keys[..<2] {
                let channel = play.emulator.makeBrowserSubscription(senderKey: Array(key.publicKey.x963Representation))
                #expect(try await play.send(to: channel).kind.hasPrefix("accepted "))
            }
            let other = play.emulator.makeBrowserSubscription(senderKey: Array(keys[2].publicKey.x963Representation))
            #expect(try await play.send(to: other).kind == "bad route")
        }
    }

    @Test func `a subscription of before a restart is reached at the new port`() async throws {
        let seed = [UInt8](repeating: 7, count: 32)
        var channel: BrowserPushChannel?
        try await run(seed: seed) { play in channel = play.emulator.makeBrowserSubscription() }
        let kept = try #require(channel)
        try await run(seed: seed) { play async throws in
            #expect(try await play.send(to: kept).kind.hasPrefix("accepted \(play.emulator.origin)/"))
            #expect(
                play.emulator.inbox(of: kept.endpoint).map(\.plaintext) == [.text(Array("{\"title\":\"News\"}".utf8))]
            )
        }
    }

    @Test func `a hundred messages at once all arrive`() async throws {
        try await run { play async throws in
            let channels = (0..<100).map { _ in play.emulator.makeBrowserSubscription() }
            let kinds = try await withThrowingTaskGroup(of: String.self) { group in
                for channel in channels { group.addTask { try await play.send(to: channel).kind } }
                return try await group.reduce(into: [String]()) { $0.append($1) }
            }
            #expect(kinds.allSatisfy { $0.hasPrefix("accepted ") } && kinds.count == 100)
            #expect(channels.allSatisfy { play.emulator.inbox(of: $0.endpoint).count == 1 })
        }
    }

    @Test func `a declarative message arrives wrapped`() async throws {
        try await run(more: ["Declarative": "true"]) { play async throws in
            let channel = play.emulator.makeBrowserSubscription()
            let text = "{\"title\":\"T\",\"navigate\":\"/\"}"
            _ = try await play.send(WebPushSender.message(text, at: Timestamp(Date())), to: channel)
            let wrapped = "{\"web_push\":8030,\"notification\":\(text)}"
            #expect(play.emulator.inbox(of: channel.endpoint).map(\.plaintext) == [.text(Array(wrapped.utf8))])
        }
    }
}
