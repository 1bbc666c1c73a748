import Foundation
import HubProtocol
import Synchronization
import Testing

/// SIGKILL to hub and app backend at random points, while devices change hands and tokens are revoked.
///
/// `NEWSWIRE_LONG=1` plays more seeds and rounds; `NEWSWIRE_SEED=N` plays one seed again.
@Suite(.serialized) struct BackendKillTests {
    private static let users = ["ann", "bob", "cat"]
    private static let rounds = KillTests.isLong ? 60 : 12

    @Test(.timeLimit(.minutes(30)), arguments: KillTests.seeds)
    func `no device keeps two users' tags, no token outlives its revocation, and no answer is lost`(
        seed: UInt64
    ) async throws {
        try await BackendStage.run(users: Self.users) { stage in
            var random = SeededGenerator(seed: seed)
            let sessions = try await Self.logIn(stage.calls)
            let tokens = TokenPlay(try await Self.spares(Self.rounds, stage.calls))
            var devices = (0..<4).map { DevicePlay(number: $0, calls: stage.calls, sessions: sessions) }
            for round in 0..<Self.rounds {
                let seeds = devices.map { _ in UInt64.random(in: 0...UInt64.max, using: &random) }
                let (playing, calls) = (devices, stage.calls)
                devices = try await withThrowingTaskGroup(of: DevicePlay.self) { group in
                    for (device, seed) in zip(playing, seeds) {
                        group.addTask {
                            var device = device
                            try await device.play(seed: seed)
                            return device
                        }
                    }
                    async let revocations: Void = tokens.revoke(round, calls)
                    try await Self.kill(stage, &random)
                    await revocations
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                devices.sort { $0.number < $1.number }
                let note = Comment(rawValue: "seed \(seed), round \(round)")
                try await Self.check(devices, stage.calls, note)
                try await tokens.check(stage.calls, note)
            }
            for index in devices.indices { try await devices[index].settle() }
            try await Self.check(devices, stage.calls, Comment(rawValue: "seed \(seed), at the end"))
        }
    }

    private static func logIn(_ calls: BackendCalls) async throws -> [String: String] {
        var sessions: [String: String] = [:]
        for user in users { sessions[user] = try await calls.logIn(user) }
        return sessions
    }

    /// Tokens to be revoked, some for each round.
    private static func spares(_ rounds: Int, _ calls: BackendCalls) async throws -> [[String]] {
        var tokens: [[String]] = []
        for round in 0..<rounds {
            let user = users[round % users.count]
            tokens.append([try await calls.logIn(user), try await calls.logIn(user)])
        }
        return tokens
    }

    /// Kills the hub, the backend or both at random points, and brings them back.
    private static func kill(_ stage: BackendStage, _ random: inout SeededGenerator) async throws {
        let victims = [[true], [false], [true, false], [false, true]].randomElement(using: &random) ?? []
        for isHub in victims {
            await stage.pause(milliseconds: Int.random(in: 0...300, using: &random))
            await (isHub ? stage.hub : stage.backend)?.killNow()
        }
        for isHub in victims.shuffled(using: &random) {
            if isHub { try await stage.startHub() } else { try await stage.startBackend() }
        }
    }

    /// Compares the hub's registrations with what the devices were answered.
    private static func check(_ devices: [DevicePlay], _ calls: BackendCalls, _ note: Comment) async throws {
        let registrations = try await calls.registrations()
        for device in devices {
            let found = registrations.filter { $0.pushChannel == .handle(device.handle) }
            #expect(found.count <= 1, "\(device.handle) is registered \(found.count) times; \(note)")
            guard let registration = found.first else {
                #expect(device.mayBe.contains(nil), "\(device.handle) is lost; \(note)")
                continue
            }
            let tags = registration.tags.map(\.text)
            #expect(tags.count == 1, "\(device.handle) has \(tags); \(note)")
            let holder = tags.first.map { String($0.dropFirst("username:".count)) }
            #expect(device.mayBe.contains(holder), "\(device.handle): \(tags), not \(device.mayBe); \(note)")
        }
        #expect(Set(registrations.map(\.pushChannel.handle)).isSubset(of: devices.map(\.handle)), note)
    }
}

/// A device that its users sign in on in turn, and all that the hub may have for it after what it was answered.
private struct DevicePlay: Sendable {
    let number: Int
    let calls: BackendCalls
    let sessions: [String: String]
    /// An id that the app has stored; the first attempt with one of another origin is refused.
    private let id: String
    /// Users whom the hub may have for it; `nil` for no registration.
    private(set) var mayBe: Set<String?> = [nil]

    var handle: String { "0A0\(number)" }

    init(number: Int, calls: BackendCalls, sessions: [String: String]) {
        self.number = number
        self.calls = calls
        self.sessions = sessions
        id = "7\(number)-\(number + 1)-1"
    }

    /// Signs users in until nothing is killed any more, so that each kill finds requests on their way.
    mutating func play(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<6 {
            guard let user = sessions.keys.sorted().randomElement(using: &random) else { return }
            _ = await register(user)
            await pause(milliseconds: Int.random(in: 0...80, using: &random))
        }
    }

    /// Registers for a user once hub and backend are there.
    ///
    /// After a call without an answer only the user of that call can go on at once.
    mutating func settle() async throws {
        for user in sessions.keys.sorted() + sessions.keys.sorted() where await register(user) == 200 { return }
        Issue.record("device \(handle) cannot be registered any more")
    }

    /// - Returns: The status; `nil` if there was no answer.
    private mutating func register(_ user: String) async -> Int? {
        let before = mayBe
        let body = #"{"Platform":"apns","Handle":"\#(handle)"}"#
        let answer = try? await calls.send("PUT", "/api/register/\(id)", as: sessions[user], body)
        switch answer?.status {
        case 200: mayBe = [user]
        // Refused, and nothing is changed.
        case 410: mayBe = before
        // Any step of the change may have been made all the same: what others had under the handle goes first.
        case nil, 502, 503: mayBe = before.union([user, nil])
        default: Issue.record("\(answer?.status ?? 0): \(answer?.text ?? "")")
        }
        return answer?.status
    }

    private func pause(milliseconds: Int) async {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { continuation.resume() }
        }
    }
}

/// Tokens that are revoked while servers are killed.
private final class TokenPlay: Sendable {
    private enum Fate {
        case valid, revoked, unknown
    }

    private let spares: [[String]]
    private let fates: Mutex<[String: Fate]>

    init(_ spares: [[String]]) {
        self.spares = spares
        fates = Mutex(Dictionary(uniqueKeysWithValues: spares.joined().map { ($0, .valid) }))
    }

    /// Logs out with a round's tokens.
    func revoke(_ round: Int, _ calls: BackendCalls) async {
        for token in spares[round] {
            let answer = try? await calls.send("POST", "/api/logout", as: token)
            fates.withLock { $0[token] = answer?.status == 200 ? .revoked : .unknown }
        }
    }

    func check(_ calls: BackendCalls, _ note: Comment) async throws {
        for (token, fate) in fates.withLock({ $0 }) {
            // An id that is not the user's is left alone.
            let status = try await calls.send("DELETE", "/api/register/1-1-1", as: token).status
            switch fate {
            case .valid: #expect(status == 200, note)
            case .revoked: #expect(status == 401, note)
            case .unknown:
                #expect(status == 200 || status == 401, note)
                // From now on it is known.
                fates.withLock { $0[token] = status == 401 ? .revoked : .valid }
            }
        }
    }
}
