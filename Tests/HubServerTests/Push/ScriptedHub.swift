import Foundation
import HubProtocol
import HubRouting
import Synchronization

@testable import HubServer

/// A hub with a credential for APNs, which a scripted push service answers for.
enum ScriptedHub {
    static let credential = PlatformCredential(
        .apns,
        [.init(name: "AppId", value: "TEAM"), .init(name: "AppName", value: "org.example.news")]
    )

    static func run<Output: Sendable>(
        _ service: ScriptedPushService,
        scratch: Scratch? = nil,
        clock: TestClock = TestClock(),
        configure: (inout HubConfiguration) -> Void = { _ in },
        _ body: (TestHub) async throws -> Output
    ) async throws -> Output {
        try await TestHub.run(try scratch ?? Scratch(), clock: clock) {
            $0.pushServices = service
            configure(&$0)
        } _: { hub in
            try await hub.set { $0.credentials = [credential] }
            await hub.service.push.settle()
            return try await body(hub)
        }
    }
}

/// A door that a test opens once; before, those who come wait.
final class Door: Sendable {
    private struct State {
        var isOpen = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func opened() async {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.waiting.append(continuation) }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
    }
}
