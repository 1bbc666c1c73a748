import HubRouting
import NetworkAddresses

/// Whose requests a quota counts together: those with one rule of a hub or of the namespace, from one address.
struct QuotaKey: Sendable, Hashable {
    let hub: HubKey
    let rule: String
    let isOfNamespace: Bool
    /// `nil` where no address is known.
    let address: AddressGroup?

    init(hub: HubKey, credential: Credential, address: NetworkAddress?) {
        self.hub = hub
        rule = credential.rule
        isOfNamespace = credential.isOfNamespace
        self.address = address.map(AddressGroup.init)
    }
}
