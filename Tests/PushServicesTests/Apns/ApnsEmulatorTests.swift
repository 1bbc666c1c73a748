import Foundation
import HubProtocol
import HubTestServer
import PushEmulator
import PushServices
import Testing

/// APNs over TLS and HTTP/2, as the emulator speaks it.
@Suite struct ApnsEmulatorTests {
    /// Runs with a service that the emulator answers.
    private func run(
        _ changes: [String: String?] = [:],
        _ body: (PushEmulator, any PushService) async throws -> Void
    ) async throws {
        try await ServicePeers.run(ApnsCredentialTests.credential(changes), body)
    }

    private func prepare(_ service: any PushService) throws -> ReadyPush {
        let body = Array(#"{"aps":{"alert":"Hello"}}"#.utf8)
        return try ReadyPush(PushMessage(format: .apple, body: body, acceptedAt: Timestamp(Date())), by: service)
    }

    private func send(_ service: any PushService, to handle: String) async throws -> PushOutcome {
        try await prepare(service).send(to: PushTarget(channel: .handle(handle), id: UUID()))
    }

    /// Five hundred device tokens, of which one in the middle ends its connection once.
    private static let handles = (0..<500).map { number in
        let digits = String(number, radix: 16)
        return (number == 250 ? "fa17060a01" : "0b") + String(repeating: "0", count: 6 - digits.count) + digits
    }

    @Test func `a message arrives, and the first answer opens the way for more`() async throws {
        try await run { emulator, service in
            #expect(service.concurrency == 1)
            let name = ServicePeers.kind(try await send(service, to: "00aa"))
            #expect(name == "accepted")
            #expect(service.concurrency == 2_000)
            let delivery = try #require(emulator.inbox(of: "00aa").first)
            #expect(delivery.body == Array(#"{"aps":{"alert":"Hello"}}"#.utf8))
        }
    }

    @Test(
        arguments: [
            ("fa17dead00", "dead"), ("fa17bad000", "doubtful"), ("fa17042900", "throttled handle"),
            ("fa17050300", "retry"), ("fa17050000", "retry"), ("fa17040300", "refusedCredential"),
            ("fa17040000", "badRoute"), ("fa17020000", "accepted"),
            // The connection ends once, and the message goes out on another.
            ("fa17060a01", "accepted"),
        ]
    )
    func `each fault has its outcome`(handle: String, outcome: String) async throws {
        try await run { _, service in
            let name = ServicePeers.kind(try await send(service, to: handle))
            #expect(name == outcome)
        }
    }

    @Test func `five hundred at once, with a connection that ends among them, all arrive`() async throws {
        try await run { emulator, service in
            _ = try await send(service, to: "00")
            let outcomes = await withTaskGroup(of: String.self) { group in
                for handle in Self.handles {
                    group.addTask {
                        (try? await self.send(service, to: handle)).map {
                            if case .accepted = $0 { "accepted" } else { "\($0)" }
                        } ?? "error"
                    }
                }
                return await group.reduce(into: [:]) { $0[$1, default: 0] += 1 }
            }
            #expect(outcomes == ["accepted": 500])
            #expect(Self.handles.allSatisfy { !emulator.inbox(of: $0).isEmpty })
        }
    }

    @Test(.timeLimit(.minutes(2)))
    func `a batch with a connection that ends in its middle arrives, and each place has one outcome`() async throws {
        try await run { emulator, service in
            _ = try await send(service, to: "00")
            let push = try prepare(service)
            let batch = Self.handles.map { PushTarget(channel: .handle($0), id: UUID()) }
            let (reports, continuation) = AsyncStream<[(place: Int, outcome: PushOutcome)]>.makeStream()
            push.send(to: batch) { continuation.yield($0) }
            var places: [Int] = []
            var outcomes: [String: Int] = [:]
            for await report in reports {
                for (place, outcome) in report {
                    places.append(place)
                    outcomes[ServicePeers.kind(outcome), default: 0] += 1
                }
                if places.count >= batch.count { break }
            }
            #expect(places.sorted() == Array(batch.indices))
            #expect(outcomes == ["accepted": 500])
            #expect(Self.handles.allSatisfy { !emulator.inbox(of: $0).isEmpty })
        }
    }

    @Test func `a credential is tried without a message to a device`() async throws {
        try await run { emulator, service in
            let name = ServicePeers.kind(await service.tryCredential())
            #expect(name == "accepted")
            #expect(emulator.inbox(of: "0").isEmpty)
        }
        try await run(["AppId": "REFUSED123"]) { _, service in
            let name = ServicePeers.kind(await service.tryCredential())
            #expect(name == "refusedCredential")
        }
    }

    @Test func `a certificate proves who sends`() async throws {
        let changes = ["Token": nil, "ApnsCertificate": ApnsCredentialTests.certificate, "CertificateKey": "secret"]
        try await run(changes) { emulator, service in
            let name = ServicePeers.kind(try await send(service, to: "00aa"))
            #expect(name == "accepted")
            let headers = emulator.inbox(of: "00aa").first?.headers ?? []
            #expect(!headers.contains { $0.name == "authorization" })
        }
    }
}
