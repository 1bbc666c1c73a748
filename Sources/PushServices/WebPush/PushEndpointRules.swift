import HubProtocol
import NetworkAddresses
import OutboundHTTP

/// Decides to which endpoints the hub sends, and which addresses their hosts may have.
///
/// Source: RFC 8030 §8.2; the hosts are the push services of Google, Mozilla, Microsoft and Apple.
struct PushEndpointRules: Sendable {
    /// An endpoint to which the hub sends.
    struct Destination: Sendable {
        let endpoint: PushEndpoint
        let addresses: AddressPolicy
        /// True for Apple's push service.
        let isApple: Bool
    }

    /// The outcome for an endpoint to which the hub does not send.
    struct Refusal: Error, Equatable {
        let outcome: PushOutcome
    }

    private static let knownHosts: Set<String> = ["fcm.googleapis.com", "jmt17.google.com"]
    private static let appleDomain = ".push.apple.com"
    /// Domains of which every subdomain is known.
    private static let knownDomains = [".push.services.mozilla.com", ".notify.windows.com", appleDomain]
    /// Host that browsers write into subscriptions that have ended.
    private static let removedHost = "permanently-removed.invalid"
    /// Name of the setting for further hosts.
    private static let setting = "push-hosts"
    /// Names of this machine, where the emulator listens.
    private static let emulatedHosts = ["127.0.0.1", "localhost"]

    private let emulatedOrigin: String?
    private let ownHosts: Set<String>
    private let ownAddresses: [AddressBlock]

    init(_ surroundings: ServiceSurroundings) {
        emulatedOrigin = surroundings.emulation?.origin
        ownHosts = Set(surroundings.browserHosts)
        ownAddresses = surroundings.browserAddresses
    }

    /// - Throws: ``Refusal``.
    func destination(_ text: String) throws(Refusal) -> Destination {
        let endpoint: PushEndpoint
        do throws(PushEndpoint.Problem) {
            endpoint = try PushEndpoint(text)
        } catch {
            throw Self.refusal("the endpoint cannot be used: \(error.reason)")
        }
        if endpoint.host.description == Self.removedHost {
            throw Refusal(outcome: .deadHandle(DeadHandle(reason: "the browser has removed the subscription")))
        }
        if let emulatedOrigin { return try emulated(endpoint, emulatedOrigin) }
        guard case .name(let host) = endpoint.host else {
            throw Self.refusal("the endpoint cannot be used: its host is an address, not a name")
        }
        if ownHosts.contains(host) {
            // Only hosts that the operator named may have other ports and addresses that are not public.
            return Destination(
                endpoint: endpoint,
                addresses: ownAddresses.isEmpty ? .publicOnly : .publicAnd(ownAddresses),
                isApple: false
            )
        }
        guard Self.isKnown(host) else {
            throw Self.refusal(
                "'\(host.prefix(100))' is not a known push service; if it is one, add it to '\(Self.setting)'"
            )
        }
        guard endpoint.isAtUsualPort else {
            throw Self.refusal(
                "'\(endpoint.displayHost.prefix(100))' is not at port 443; "
                    + "if it is a push service, add its host to '\(Self.setting)'"
            )
        }
        return Destination(endpoint: endpoint, addresses: .publicOnly, isApple: host.hasSuffix(Self.appleDomain))
    }

    /// The emulator's port changes with each start, so the port in a subscription is ignored.
    private func emulated(_ endpoint: PushEndpoint, _ origin: String) throws(Refusal) -> Destination {
        guard Self.emulatedHosts.contains(endpoint.host.description), let own = endpoint.moved(to: origin) else {
            throw Self.refusal(
                "push services are emulated, and '\(endpoint.displayHost.prefix(100))' is not the emulator"
            )
        }
        return Destination(endpoint: own, addresses: .any, isApple: false)
    }

    private static func isKnown(_ host: String) -> Bool {
        knownHosts.contains(host) || knownDomains.contains { host.hasSuffix($0) && host != $0 }
    }

    private static func refusal(_ reason: String) -> Refusal { Refusal(outcome: .unsendable(reason)) }
}
