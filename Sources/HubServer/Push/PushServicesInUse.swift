import HubProtocol
import PushServices
import Synchronization

/// A hub's push services that are in use, by platform.
final class PushServicesInUse: Sendable {
    /// The reasons why messages for a push service wait.
    struct Obstacles {
        /// The reason why the credential is not used.
        var refusal: String?
        /// The hosts that refuse the hub's key or contact, with their reasons.
        var hostRefusals: [String: String] = [:]
        /// The paused hosts, with the ends of their pauses; the empty name is the service as a whole.
        var pauses: [String: Timestamp] = [:]
    }

    private struct Use {
        var service: (any PushService)?
        var obstacles = Obstacles()
        var audience: (credential: PlatformCredential, audience: String?)?
    }

    private let uses = Mutex<[Platform: Use]>([:])

    subscript(platform: Platform) -> (any PushService)? {
        get { uses.withLock { $0[platform]?.service } }
        set { change(platform) { $0.service = newValue } }
    }

    private func change(_ platform: Platform, _ change: (inout Use) -> Void) {
        uses.withLock { change(&$0[platform, default: Use()]) }
    }

    private func all<Value>(_ value: (Use) -> Value?) -> [Platform: Value] {
        uses.withLock { $0 }.compactMapValues(value)
    }

    /// Returns the reason why a credential is not used; `nil` while it is.
    func refusal(_ platform: Platform) -> String? { uses.withLock { $0[platform]?.obstacles.refusal } }

    /// Changes the reasons why messages for a platform's service wait.
    func note(_ platform: Platform, _ note: (inout Obstacles) -> Void) { change(platform) { note(&$0.obstacles) } }

    /// Returns the paused hosts by platform.
    func pauses(at now: Timestamp) -> [Platform: [String]] {
        all { $0.obstacles.pauses.isEmpty ? nil : $0.obstacles.pauses }.mapValues { hosts in
            hosts.filter { $0.value > now }.keys.sorted()
        }
    }

    /// Forgets the refusals and pauses of platforms that are not in use any more.
    func forgetRefusals(except platforms: Set<Platform>) {
        uses.withLock { uses in
            for platform in uses.keys where !platforms.contains(platform) {
                uses[platform]?.obstacles = Obstacles()
            }
        }
    }

    /// Returns the app, project or team whose handles a credential reaches; `nil` if it is not known.
    func audience(of credential: PlatformCredential, on platform: Platform, by maker: any PushServiceMaker) -> String? {
        let known = uses.withLock { $0[platform]?.audience }
        if let known, known.credential == credential { return known.audience }
        let audience = maker.audience(of: credential)
        change(platform) { $0.audience = (credential, audience) }
        return audience
    }

    /// Expiry of the credentials that expire.
    var expiries: [Platform: Timestamp] { all { $0.service?.credentialExpiresAt } }

    /// Credentials that are not used, with the reason.
    var refusals: [Platform: String] { all(\.obstacles.refusal) }

    /// Hosts of browsers' push services that refuse the hub's key or contact, with their reasons, by platform.
    var hostRefusals: [Platform: [String: String]] {
        all { $0.obstacles.hostRefusals.isEmpty ? nil : $0.obstacles.hostRefusals }
    }
}
