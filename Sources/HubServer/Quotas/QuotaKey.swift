import HubRouting
import NetworkAddresses

/// The requests that a quota counts together: those from one address with one rule of a hub or of the namespace.
struct QuotaKey: Sendable, Hashable {
    let hub: HubKey
    let rule: String
    let isOfNamespace: Bool
    /// `nil` if the address is unknown.
    let address: NetworkGroup?

    init(hub: HubKey, credential: Credential, address: NetworkAddress?) {
        self.hub = hub
        rule = credential.rule
        isOfNamespace = credential.isOfNamespace
        self.address = address.flatMap { NetworkGroup.path(of: $0).last }
    }
}
