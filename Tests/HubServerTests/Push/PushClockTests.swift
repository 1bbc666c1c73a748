import Foundation
import HubProtocol
import PushEmulator
import Testing

@testable import HubServer

/// A hub whose clock is wrong, before push services whose clock is right.
struct PushClockTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let platform: EmulatedPlatform
        /// Seconds by which the hub's clock is ahead.
        let offset: Double

        var testDescription: String { "\(platform.rawValue), \(offset) s" }
    }

    /// A little more than an hour: APNs takes tokens of an hour, Google's tokens reach as far, and five minutes more.
    @Test(
        arguments: [
            Case(platform: .apple, offset: 3_660), Case(platform: .apple, offset: -3_720),
            Case(platform: .fcmv1, offset: 3_660), Case(platform: .fcmv1, offset: -4_200),
        ]
    )
    func `a clock that is an hour off loses nothing`(_ wrong: Case) async throws {
        let platform = wrong.platform
        // As long as a probe of the credential waits, so that the clock is right again when it goes out.
        let wait = 61.0
        let clock = TestClock(Date() - wait + wrong.offset)
        try await EmulatedHub.run(clock: clock, services: { Timestamp(Date()) }) { hub, emulator in
            let channels = (0..<20).map { platform.channel("p\($0)", emulator) }
            for (number, channel) in channels.enumerated() {
                try await hub.register("\(number + 1)-1-1", platform.platform, channel)
            }
            let id = try await hub.send(format: platform.rawValue, platform.body, tags: "World")
            await hub.settlePushes()
            let reason = hub.hub.push.refusal(platform.platform)
            #expect(reason?.contains("clock") == true, "\(reason ?? "not refused")")
            let details = try await hub.details(id)
            #expect(details.outcomes.isEmpty && [.enqueued, .processing].contains(details.state), "\(details)")
            #expect(channels.allSatisfy { emulator.inbox(of: $0.handle).isEmpty })

            clock.jump(by: -wrong.offset)
            clock.advance(by: wait)
            await hub.settlePushes()
            #expect(hub.hub.push.refusal(platform.platform) == nil)
            #expect(try await hub.outcomes(id) == [platform.platform: [.success: 20]])
            #expect(try await hub.details(id).state == .completed)
            #expect(channels.map { emulator.inbox(of: $0.handle).count } == Array(repeating: 1, count: 20))
        }
    }
}
