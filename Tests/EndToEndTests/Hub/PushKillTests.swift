import Foundation
import HubProtocol
import PushEmulator
import Testing

/// SIGKILL to a hub at random points while it delivers to push services.
///
/// `NEWSWIRE_LONG=1` uses 100,000 targets and 20 kills; `NEWSWIRE_SEED=N` repeats one seed.
@Suite(.serialized) struct PushKillTests {
    private static let seed = ProcessInfo.processInfo.environment["NEWSWIRE_SEED"].flatMap(UInt64.init) ?? 1
    private static let targets = KillTests.isLong ? 100_000 : 3_000
    private static let kills = KillTests.isLong ? 20 : 4
    /// Targets of the messages that expire; a page of failures has room for those of each message.
    private static let expiring = KillTests.isLong ? 3_000 : 30
    /// Targets of one credential that may be sent and not recorded; a kill repeats each of them once.
    private static let maximumInFlight = 4_000

    @Test(.timeLimit(.minutes(30)))
    func `every target is reached, repeats are those in flight, and a dead handle goes once`() async throws {
        try await PushPlay.run(seed: Self.seed, targets: Self.targets) { play in
            try await play.register()
            // Answers are so slow that each kill finds messages in flight.
            let slow = PushFault(.slow(.milliseconds(400)))
            for service in PushPlay.services { play.emulator.setFault(slow, for: service) }
            let messages = try await play.broadcast()
            var written: [Platform: Int] = [:]
            var allowed: [Platform: Int] = [:]
            for _ in 0..<Self.kills {
                await play.pauseAtRandom()
                // A hub that has not started yet has recorded nothing more.
                written = (try? await play.successes(of: messages)) ?? written
                for platform in PushPlay.platforms {
                    let open = play.fleet.alive(platform).count - (written[platform] ?? 0)
                    allowed[platform, default: 0] += min(Self.maximumInFlight, open)
                }
                try await play.killAndRestart()
            }
            for service in PushPlay.services { play.emulator.setFault(nil, for: service) }
            try await play.wait(for: .completed, messages)
            try checkDeliveries(play, allowed)
            try await checkOutcomes(play, messages)
            try await checkRegistrations(play)
        }
    }

    private func checkDeliveries(_ play: PushPlay, _ allowed: [Platform: Int]) throws {
        for platform in PushPlay.platforms {
            var missed: [String] = []
            var often: [String] = []
            var repeats = 0
            for target in play.fleet.alive(platform) {
                let count = play.emulator.inbox(of: target.handle).count
                if count == 0 { missed.append(target.handle) }
                if count > Self.kills + 1 { often.append(target.handle) }
                repeats += max(0, count - 1)
            }
            #expect(missed.isEmpty, "\(platform): \(missed.count) missed, such as \(missed.prefix(3)); \(play.note)")
            #expect(often.isEmpty, "\(platform): \(often.prefix(3)) had it more than once a kill; \(play.note)")
            #expect(repeats <= Self.kills * Self.maximumInFlight, "\(platform); \(play.note)")
            // What telemetry called a success before a kill is never sent again.
            #expect(repeats <= allowed[platform] ?? 0, "\(platform); \(play.note)")
            let dead = play.fleet.dead(platform).filter { !play.emulator.inbox(of: $0.handle).isEmpty }
            #expect(dead.isEmpty, "\(platform); \(play.note)")
        }
    }

    /// Outcome and removal are one write: a handle that was removed before its outcome was kept would be `Skipped`.
    private func checkOutcomes(_ play: PushPlay, _ messages: [String]) async throws {
        let outcomes = try await play.outcomes(of: messages)
        for platform in PushPlay.platforms {
            let expected: [OutcomeName: Int] = [
                .success: play.fleet.alive(platform).count, .expiredChannel: play.fleet.dead(platform).count,
            ]
            #expect(outcomes[platform] == expected, "\(platform); \(play.note)")
        }
    }

    private func checkRegistrations(_ play: PushPlay) async throws {
        let registered = play.fleet.targets.filter { $0.installation == nil }
        let alive = Set(registered.filter { !$0.isDead }.map(\.id))
        let left = try await play.export().intersection(registered.map(\.id))
        #expect(left == alive, "\(left.count) of \(alive.count) are left; \(play.note)")
        for dead in registered.filter(\.isDead).prefix(10) {
            #expect(try await play.put(dead) == 410, "what has ended says so to its owner; \(play.note)")
        }
        for target in play.fleet.targets {
            guard let installation = target.installation else { continue }
            let reply = try await play.send("GET", "/news/installations/\(installation)")
            let flag = "\"pushChannelExpired\":\(target.isDead)"
            #expect(reply.status == 200 && reply.text.contains(flag), "\(installation): \(reply.text)")
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func `a message that expires while push services are away is given up and says so`() async throws {
        try await PushPlay.run(seed: Self.seed, targets: Self.expiring) { play in
            try await play.register()
            await play.emulator.stop()
            let messages = try await play.broadcast(seconds: 3)
            await play.pauseAtRandom()
            try await play.killAndRestart()
            try await play.wait(for: .abandoned, messages)
            let native = play.fleet.targets.filter { !$0.isTemplate }
            for (message, platform) in zip(messages, PushPlay.platforms) {
                let expected = native.count { $0.platform == platform }
                #expect(try await play.outcomes(of: [message]) == [platform: [.abandoned: expected]], "\(play.note)")
                let failures = try await play.failures(of: message)
                #expect(failures.count == expected)
                for failure in failures {
                    #expect(failure.outcome == OutcomeName.abandoned.rawValue)
                    #expect(failure.reason.contains("expired"), "\(failure.reason)")
                }
            }
        }
    }
}
