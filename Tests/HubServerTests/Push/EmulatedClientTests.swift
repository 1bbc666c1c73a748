import Certificates
import Foundation
import HubProtocol
import NetworkAddresses
import PushEmulator
import Testing

@testable import HubServer

/// Every send that the client libraries make, as it was recorded, and what becomes of it.
struct EmulatedClientTests {
    private static let tags = ["tag1", "country_US"]
    private static let token = String(repeating: "12", count: 32)

    /// What the push services refuse, or cannot be sent, of what the clients were recorded with.
    private static let refusals: [String: OutcomeName] = [
        // A silent notification with an alert.
        "dotnet send.apple.headers": .invalidNotificationFormat,
        // Addresses that are not the push service's.
        "dotnet send.batch.windows": .badChannel, "js send.direct.browser": .badChannel,
    ]

    /// A device of each platform with a registration of each kind, all of which every recorded tag expression matches.
    private func register(_ hub: TestHub, _ emulator: PushEmulator) async throws {
        for (number, platform) in EmulatedPlatform.allCases.enumerated() {
            let channel = platform == .apple ? .handle(Self.token) : platform.channel("device\(number)", emulator)
            let template = platform.template
            try await hub.register("\(number + 1)-1-1", platform.platform, channel, tags: Self.tags)
            try await hub.register(
                "\(number + 1)-2-2",
                platform.platform,
                channel,
                tags: Self.tags,
                template: RegistrationTemplate(
                    name: "t",
                    body: template.body.replacing("$(title)", with: "$(m)"),
                    headers: template.headers
                )
            )
        }
        let retired: [(Platform, String)] = [
            (.mpns, "https://phone.example/1"), (.adm, "adm-token"), (.baidu, "user-channel"),
            (.xiaomi, "xiaomi-token"),
        ]
        for (number, (platform, handle)) in retired.enumerated() {
            try await hub.register("\(number + 1)-3-3", platform, .handle(handle), tags: Self.tags)
        }
    }

    private static func isSend(_ request: ClientRequest) -> Bool {
        request.operation.hasPrefix("send: ") && request.status == 201
    }

    @Test func `each recorded send has the outcome that its client receives`() async throws {
        let names = ["localhost"].compactMap { HostName($0) }
        let configure = { (scratch: Scratch, configuration: inout HubConfiguration) in
            configuration.certificate = .local(LocalCertificates(directory: scratch.folder, names: names))
        }
        try await EmulatedHub.run(configure: configure) { hub, emulator in
            try await register(hub, emulator)
            let session = ClientSession(
                values: [
                    "hub": "news", "host": "h", "hostname": "h", "tag": Self.tags[0], "token": Self.token,
                    "apnsexpiry": "03/17/2030 06:46:40",
                ],
                keys: ["rule": hub.full, "nsrule": hub.root]
            )
            var count = 0
            for recorded in try RecordedRequest.all where Self.isSend(recorded.request) {
                let expires = Int64(hub.clock.now.timeIntervalSince1970) + 3_600
                let reply = try await session.exchange(recorded.request, expires: expires, port: hub.port)
                try #require(reply.status == 201, "\(recorded.testDescription): \(reply.body)")
                if recorded.request.operation == "send: test" {
                    try checkTest(reply, recorded)
                } else {
                    await hub.settlePushes()
                    try check(try await hub.details(try reply.messageID), recorded)
                }
                count += 1
            }
            #expect(count > 100, "all were read")
            let inbox = emulator.inbox(of: Self.token)
            #expect(inbox.contains { $0.message == #"{"aps":{"alert":"Grüße"}}"# })
        }
    }

    private func check(_ details: NotificationDetails, _ recorded: RecordedRequest) throws {
        let name = "\(recorded.client.rawValue) \(recorded.request.name)"
        #expect(!details.outcomes.isEmpty, "\(name)")
        for (platform, outcomes) in details.outcomes {
            var expected: OutcomeName =
                switch platform {
                case .mpns, .adm, .baidu: .invalidNotificationFormat
                case .xiaomi: .abandoned
                default: .success
                }
            if let refusal = Self.refusals[name] { expected = refusal }
            // Of a batch that has a handle twice one is sent.
            let others = outcomes.keys.filter { $0 != expected && $0 != .skipped }
            #expect(outcomes[expected] == 1 && others.isEmpty, "\(name): \(platform) \(outcomes)")
        }
        let isGivenUp = details.outcomes.keys.contains(.xiaomi)
        #expect(details.state == (isGivenUp ? .abandoned : .completed), "\(name)")
        if recorded.request.operation == "send: template" {
            // Java's SDK cannot read the counts of Xiaomi, which a client that sends a template has not asked for.
            let platforms = Set(EmulatedPlatform.allCases.map(\.platform)).subtracting([.xiaomi])
            #expect(Set(details.outcomes.keys) == platforms, "\(name)")
        }
    }

    private func checkTest(_ reply: Reply, _ recorded: RecordedRequest) throws {
        let outcome = try #require(NotificationOutcome(xml: reply.body), "\(reply.body)")
        #expect(outcome.failure == 0 && outcome.success > 0, "\(recorded.testDescription): \(outcome.results)")
        #expect(outcome.results.allSatisfy { $0.outcome == RegistrationResult.success })
    }
}
