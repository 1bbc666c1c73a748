import Foundation
import HubProtocol
import HubRouting

@testable import HubServer

/// A hub with a credential for APNs, which a scripted push service answers for.
enum ScriptedHub {
    static let credential = PlatformCredential(
        .apns,
        [.init(name: "AppId", value: "TEAM"), .init(name: "AppName", value: "org.example.news")]
    )

    static func run(
        _ service: ScriptedPushService,
        scratch: Scratch? = nil,
        clock: TestClock = TestClock(),
        configure: (inout HubConfiguration) -> Void = { _ in },
        _ body: (TestHub) async throws -> Void
    ) async throws {
        try await TestHub.run(try scratch ?? Scratch(), clock: clock) {
            $0.pushServices = service
            configure(&$0)
        } _: { hub in
            try await hub.set { $0.credentials = [credential] }
            try await body(hub)
        }
    }
}
