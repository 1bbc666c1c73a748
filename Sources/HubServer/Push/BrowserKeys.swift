import Crypto
import HubProtocol
import HubRouting
import HubStore
import Logging
import PushServices

/// The state of a hub's delivery to browsers.
package enum BrowserDelivery: Sendable, Equatable {
    case ready
    /// There are no keys, or no contact for the push services.
    case absent
    /// The credential cannot be used, for this reason.
    case unusable(String)
}

/// A hub's own VAPID keys, so that browsers can subscribe before an operator has made keys (RFC 8292).
///
/// They are stored as a credential that no client sees. A subscription is bound to the key that it was made with, so
/// older keys are kept and tried as well.
enum BrowserKeys {
    /// Makes keys for a hub that has none; `nil` if it has some.
    static func missing(in credentials: [PlatformCredential], _ configuration: HubConfiguration) -> PlatformCredential?
    {
        let services = configuration.pushServices
        guard services.kinds.contains(.browser), !services.standing.contains(where: { $0.kind == .browser }),
            !credentials.contains(where: { $0.kind == .ownBrowserKeys })
        else { return nil }
        return make()
    }

    /// Gives a hub a new key and keeps the current one as a former key: browsers that subscribed with older keys still get
    /// messages.
    ///
    /// - Throws: 404 if the hub has been deleted.
    static func rotate(_ hub: Hub) async throws {
        // Made before the change, which may run more than once.
        let key = make()
        try await hub.changeDescription { description, _ in
            let own = description.credentials.first { $0.kind == .ownBrowserKeys }
            description.credentials.removeAll { $0.kind == .ownBrowserKeys }
            description.credentials.append(key.keepingFormerKeys(of: own))
        }
        hub.logger.notice("a hub has a new key for browsers", metadata: ["hub.name": "\(hub.record.name)"])
    }

    private static func make() -> PlatformCredential {
        let key = P256.Signing.PrivateKey()
        return PlatformCredential(
            .ownBrowserKeys,
            [
                .init(name: "VapidPublicKey", value: Base64URL.encode([UInt8](key.publicKey.x963Representation))),
                .init(name: "VapidPrivateKey", value: Base64URL.encode([UInt8](key.rawRepresentation))),
            ]
        )
    }

    /// The credential for messages to browsers: the operator's key if there is one, otherwise the hub's own, then older
    /// keys.
    ///
    /// A hub's own keys cannot be used without a contact address for the push services.
    static func credential(of all: [PlatformCredential], contact: String?) -> PlatformCredential? {
        let own = all.last { $0.kind == .ownBrowserKeys }
        guard let set = all.last(where: { $0.kind == .browser }) else {
            guard let own, let contact else { return nil }
            return PlatformCredential(.browser, own.properties + [.init(name: "Subject", value: contact)])
        }
        let name = PlatformCredential.formerVapidKeys
        let former = set.allVapidKeys.dropFirst() + (own?.allVapidKeys ?? [])
        let others = set.properties.filter { $0.name.lowercased() != name.lowercased() }
        return PlatformCredential(.browser, others + [.init(name: name, value: former.joined(separator: " "))])
    }

    /// The state of a hub's delivery to browsers, as far as the hub knows without asking a push service.
    static func delivery(of hub: Hub) -> BrowserDelivery {
        let configuration = hub.configuration
        let all = configuration.pushServices.standing + hub.status.credentials
        guard let credential = credential(of: all, contact: configuration.pushContact) else { return .absent }
        do throws(BadCredential) {
            try configuration.pushServices.check(credential)
            return .ready
        } catch {
            return .unusable(error.description)
        }
    }

    /// The public key that browsers subscribe with now, 65 bytes; `nil` if there is none or it cannot be read.
    static func publicKey(of hub: Hub) -> [UInt8]? {
        let all = hub.configuration.pushServices.standing + hub.status.credentials
        let current = all.last { $0.kind == .browser } ?? all.last { $0.kind == .ownBrowserKeys }
        return current?["VapidPublicKey"].flatMap { VapidKeyID.publicKey($0) }
    }

    /// The id of the key that browsers subscribe with now.
    static func keyID(of hub: Hub) -> String? { publicKey(of: hub).map { VapidKeyID.of(publicKey: $0) } }
}

extension PushChannel {
    /// The channel with the id of the key that its browser subscribed with: the key that is current when the hub first
    /// sees the channel.
    func stamped(with keyID: @autoclosure () -> String?, after former: PushChannel?) -> PushChannel {
        guard case .browser(var browser) = self else { return self }
        if case .browser(let old) = former, old.endpoint == browser.endpoint, let kept = old.senderKeyID {
            browser.senderKeyID = kept
        } else {
            browser.senderKeyID = keyID()
        }
        return .browser(browser)
    }
}
