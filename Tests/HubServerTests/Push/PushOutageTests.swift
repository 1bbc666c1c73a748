import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices
import Synchronization
import Testing

@testable import HubServer

/// Push services that are away for minutes, on a clock that the test sets.
@Suite(.timeLimit(.minutes(5))) struct PushOutageTests {
    enum Kind: String, CaseIterable, Sendable, CustomStringConvertible {
        case apns, fcm, wns, browser

        var description: String { rawValue }

        var credential: PlatformCredential {
            switch self {
            case .apns: ScriptedHub.credential
            case .fcm: PlatformCredential(.fcmV1, [.init(name: "ProjectId", value: "project")])
            case .wns:
                PlatformCredential(
                    .wns,
                    [.init(name: "PackageSid", value: "ms-app://s-1"), .init(name: "SecretKey", value: "secret")]
                )
            case .browser:
                PlatformCredential(
                    .browser,
                    [
                        .init(name: "Subject", value: "mailto:ops@example.org"),
                        .init(name: "VapidPublicKey", value: "key"), .init(name: "VapidPrivateKey", value: "key"),
                    ]
                )
            }
        }

        var platform: Platform {
            switch self {
            case .apns: .apns
            case .fcm: .fcmv1
            case .wns: .wns
            case .browser: .browser
            }
        }

        var message: (format: String, body: String) {
            switch self {
            case .apns: ("apple", #"{"aps":{"alert":"x"}}"#)
            case .fcm: ("fcmv1", #"{"message":{"data":{}}}"#)
            case .wns: ("windows", "<toast/>")
            case .browser: ("browser", #"{"title":"x"}"#)
            }
        }

        func channel(_ number: Int) -> PushChannel {
            switch self {
            case .apns, .fcm: .handle("AA\(String(format: "%04d", number))")
            case .wns: .handle("https://a.notify.windows.com/?token=\(number)")
            case .browser:
                .browser(
                    BrowserPushChannel(
                        endpoint: "https://fcm.googleapis.com/fcm/send/\(number)",
                        p256dh: Self.receiverKey,
                        auth: "AAAAAAAAAAAAAAAAAAAAAA"
                    )
                )
            }
        }

        /// A point of the curve, from RFC 8291 §5.
        private static let receiverKey =
            "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    }

    enum Way: String, CaseIterable, Sendable, CustomStringConvertible {
        case refused, unavailable, silent

        var description: String { rawValue }
    }

    struct Outage: Sendable, CustomStringConvertible {
        let kind: Kind
        let way: Way
        let seconds: Int

        var description: String { "\(kind) \(way) for \(seconds) s" }

        static let all = Kind.allCases.flatMap { kind in
            Way.allCases.flatMap { way in [60, 600].map { Outage(kind: kind, way: way, seconds: $0) } }
        }
    }

    /// More than failures in a row that pause a service; with the probes, fewer than it takes at once.
    private static let devices = 80

    /// A service that is away: requests fail at once, or after their 30 seconds without an answer.
    private final class Peer: Sendable {
        private struct State {
            var isAway = false
            var silent: [(begunAt: Date, door: Door)] = []
        }

        let clock: TestClock
        let way: Way
        private let state = Mutex(State())
        private let delivered = Mutex<[(handle: String, at: Date)]>([])

        init(_ clock: TestClock, _ way: Way) { (self.clock, self.way) = (clock, way) }

        func set(isAway: Bool) { state.withLock { $0.isAway = isAway } }

        var deliveries: [(handle: String, at: Date)] { delivered.withLock { $0 } }
        /// Number of requests that have no answer now.
        var silentCount: Int { state.withLock { $0.silent.count } }

        func answer(_ handle: String) async -> PushOutcome {
            let now = clock.now
            let (isAway, door) = state.withLock { state -> (Bool, Door?) in
                guard state.isAway, way == .silent else { return (state.isAway, nil) }
                let door = Door()
                state.silent.append((now, door))
                return (true, door)
            }
            if let door {
                await door.opened()
                return .retry(after: nil, "no answer")
            }
            if isAway { return .retry(after: nil, way == .refused ? "connection refused" : "503") }
            delivered.withLock { $0.append((handle, now)) }
            return .accepted(id: nil)
        }

        /// Ends requests that have waited for 30 seconds.
        func expire() {
            let now = clock.now
            let ended = state.withLock { state in
                let ended = state.silent.filter { now.timeIntervalSince($0.begunAt) >= 30 }
                state.silent.removeAll { now.timeIntervalSince($0.begunAt) >= 30 }
                return ended
            }
            for request in ended { request.door.open() }
        }
    }

    private func lane(of kind: Kind, _ hub: TestHub) async -> DeliveryLane? {
        for lane in hub.service.push.lanes where await lane.platform == kind.platform { return lane }
        return nil
    }

    /// Lets a second pass, and waits until the lane has done what it can do then.
    private func pass(_ hub: TestHub, _ lane: DeliveryLane, _ peer: Peer) async throws {
        hub.clock.advance(by: 1)
        peer.expire()
        for _ in 0..<2 {
            let slots = await lane.slots
            try await hub.poll { slots.inFlight == peer.silentCount }
            await lane.settle(exceptInFlight: true)
        }
    }

    @Test(arguments: Outage.all)
    func `after an outage the first message goes out in seconds, the last in time, and none twice`(
        _ outage: Outage
    ) async throws {
        let clock = TestClock()
        let peer = Peer(clock, outage.way)
        let service = ScriptedPushService { await peer.answer($0.target.channel.handle) }
        try await ScriptedHub.run(service, clock: clock) { hub in
            try await hub.set { $0.credentials = [outage.kind.credential] }
            for number in 0..<Self.devices {
                let registration = Registration(
                    id: .random(),
                    tags: [try Tag("World")],
                    platform: outage.kind.platform,
                    pushChannel: outage.kind.channel(number)
                )
                _ = try await hub.hub.registrations.put(registration, if: .none, bytes: 0, grant: hub.manageGrant)
            }
            await hub.settlePushes()
            let lane = try #require(await lane(of: outage.kind, hub))
            peer.set(isAway: true)
            let (format, body) = outage.kind.message
            let old = try await hub.send(format: format, body, tags: "World")
            for _ in 0..<outage.seconds { try await pass(hub, lane, peer) }
            #expect(peer.deliveries.isEmpty)
            let recoveredAt = clock.now
            peer.set(isAway: false)
            let new = try await hub.send(format: format, body, tags: "World")
            var seconds = 0
            // The wait of one target doubles up to a quarter of an hour.
            while peer.deliveries.count < 2 * Self.devices, seconds < 16 * 60 {
                try await pass(hub, lane, peer)
                seconds += 1
            }
            let times = peer.deliveries.map { $0.at.timeIntervalSince(recoveredAt) }
            #expect((times.min() ?? .infinity) <= 5, "the first delivery")
            #expect(times.count { $0 <= 5 } >= Self.devices, "a new message does not wait")
            #expect((times.max() ?? .infinity) <= 40, "the last delivery: an answer of 30 s, and its wait")
            let counts = Dictionary(peer.deliveries.map { ($0.handle, 1) }, uniquingKeysWith: +)
            #expect(counts.count == Self.devices && counts.values.allSatisfy { $0 == 2 }, "one of each message")
            try await pass(hub, lane, peer)
            for id in [old, new] {
                let outcomes = try await hub.report(id).outcomes
                #expect(outcomes == [outage.kind.platform.rawValue: ["Success": Self.devices]])
            }
        }
    }
}
