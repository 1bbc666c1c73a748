import HubProtocol
import PushServices
import Synchronization

/// A hub's push services that are in use, by platform.
final class PushServicesInUse: Sendable {
    private struct Use {
        var service: (any PushService)?
        /// The reason why the credential is not used.
        var refusal: String?
        /// Reasons of refusals by host.
        var hostRefusals: [String: String] = [:]
        /// Paused hosts, with the times until which that is reported.
        var pauses: [String: Timestamp] = [:]
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
    func refusal(_ platform: Platform) -> String? { uses.withLock { $0[platform]?.refusal } }

    func set(refusal: String?, _ platform: Platform) { change(platform) { $0.refusal = refusal } }

    /// Notes the hosts of a platform that refuse the hub's key or contact, with their reasons.
    func set(hostRefusals: [String: String], _ platform: Platform) {
        change(platform) { $0.hostRefusals = hostRefusals }
    }

    /// Notes the hosts of a platform to which nothing is sent for now, with the times until which that is reported; a
    /// service with hosts of its own has an empty name.
    func set(pauses: [String: Timestamp], _ platform: Platform) { change(platform) { $0.pauses = pauses } }

    /// Returns the paused hosts by platform.
    func pauses(at now: Timestamp) -> [Platform: [String]] {
        all { $0.pauses.isEmpty ? nil : $0.pauses }.mapValues { hosts in hosts.filter { $0.value > now }.keys.sorted() }
    }

    /// Forgets the refusals and pauses of platforms that are not in use any more.
    func forgetRefusals(except platforms: Set<Platform>) {
        uses.withLock { uses in
            for platform in uses.keys where !platforms.contains(platform) {
                uses[platform]?.refusal = nil
                uses[platform]?.hostRefusals = [:]
                uses[platform]?.pauses = [:]
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
    var refusals: [Platform: String] { all(\.refusal) }

    /// Hosts of browsers' push services that refuse the hub's key or contact, with their reasons, by platform.
    var hostRefusals: [Platform: [String: String]] { all { $0.hostRefusals.isEmpty ? nil : $0.hostRefusals } }
}
