import HubProtocol
import PushServices
import Synchronization

/// A hub's push services that are in use, by platform in lower case.
final class PushServicesInUse: Sendable {
    private struct State {
        var services: [String: any PushService] = [:]
        var refusals: [String: String] = [:]
        /// Reasons of refusals by platform and host.
        var hostRefusals: [String: [String: String]] = [:]
        /// Paused hosts by platform, with the times until which that is reported.
        var pauses: [String: [String: Timestamp]] = [:]
        var audiences: [String: (credential: PlatformCredential, audience: String?)] = [:]
    }

    private let state = Mutex(State())

    subscript(platform: String) -> (any PushService)? {
        get { state.withLock { $0.services[platform] } }
        set { state.withLock { $0.services[platform] = newValue } }
    }

    /// Returns the reason why a credential is not used; `nil` while it is.
    func refusal(_ platform: String) -> String? { state.withLock { $0.refusals[platform] } }

    func set(refusal: String?, _ platform: String) { state.withLock { $0.refusals[platform] = refusal } }

    /// Notes the hosts of a platform that refuse the hub's key or contact, with their reasons.
    func set(hostRefusals: [String: String], _ platform: String) {
        state.withLock { $0.hostRefusals[platform] = hostRefusals.isEmpty ? nil : hostRefusals }
    }

    /// Notes the hosts of a platform to which nothing is sent for now, with the times until which that is reported; a
    /// service with hosts of its own has an empty name.
    func set(pauses: [String: Timestamp], _ platform: String) {
        state.withLock { $0.pauses[platform] = pauses.isEmpty ? nil : pauses }
    }

    /// Returns the paused hosts by platform.
    func pauses(at now: Timestamp) -> [String: [String]] {
        state.withLock { $0.pauses }.mapValues { hosts in hosts.filter { $0.value > now }.keys.sorted() }
    }

    /// Forgets the refusals and pauses of platforms that are not in use any more.
    func forgetRefusals(except platforms: Set<String>) {
        state.withLock { state in
            state.refusals = state.refusals.filter { platforms.contains($0.key) }
            state.hostRefusals = state.hostRefusals.filter { platforms.contains($0.key) }
            state.pauses = state.pauses.filter { platforms.contains($0.key) }
        }
    }

    /// Returns the app, project or team whose handles a credential reaches; `nil` if it is not known.
    func audience(of credential: PlatformCredential, on platform: String, by maker: any PushServiceMaker) -> String? {
        let known = state.withLock { $0.audiences[platform] }
        if let known, known.credential == credential { return known.audience }
        let audience = maker.audience(of: credential)
        state.withLock { $0.audiences[platform] = (credential, audience) }
        return audience
    }

    /// Expiry of the credentials that expire.
    var expiries: [String: Timestamp] {
        state.withLock { $0.services.compactMapValues(\.credentialExpiresAt) }
    }

    /// Credentials that are not used, with the reason.
    var refusals: [String: String] { state.withLock { $0.refusals } }

    /// Hosts of browsers' push services that refuse the hub's key or contact, with their reasons, by platform.
    var hostRefusals: [String: [String: String]] { state.withLock { $0.hostRefusals } }
}
