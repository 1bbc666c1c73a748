import HubProtocol
import PushServices
import Synchronization

/// The push services that a hub's credentials speak to now, by platform in lower case.
final class PushServicesInUse: Sendable {
    private struct State {
        var services: [String: any PushService] = [:]
        var refusals: [String: String] = [:]
        var audiences: [String: (credential: PlatformCredential, audience: String?)] = [:]
    }

    private let state = Mutex(State())

    subscript(platform: String) -> (any PushService)? {
        get { state.withLock { $0.services[platform] } }
        set { state.withLock { $0.services[platform] = newValue } }
    }

    /// Why a credential is not used; `nil` while it is.
    func refusal(_ platform: String) -> String? { state.withLock { $0.refusals[platform] } }

    func set(refusal: String?, _ platform: String) { state.withLock { $0.refusals[platform] = refusal } }

    /// Returns the app, project or team whose handles a credential reaches; `nil` if it is not known.
    func audience(of credential: PlatformCredential, on platform: String, by maker: any PushServiceMaker) -> String? {
        let known = state.withLock { $0.audiences[platform] }
        if let known, known.credential == credential { return known.audience }
        let audience = maker.audience(of: credential)
        state.withLock { $0.audiences[platform] = (credential, audience) }
        return audience
    }

    /// When credentials expire, of those that do.
    var expiries: [String: Timestamp] {
        state.withLock { $0.services.compactMapValues(\.credentialExpiresAt) }
    }

    /// Those that are not used, and why.
    var refusals: [String: String] { state.withLock { $0.refusals } }
}
