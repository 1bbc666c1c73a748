package import NetworkAddresses

/// The addresses to which a request may connect.
///
/// The resolved address is checked when the socket is opened, so a name cannot change its address after the check. The
/// connection that carries the request is checked again, since another request may have opened it, and each redirect is
/// checked anew.
package enum AddressPolicy: Sendable, Equatable {
    /// Every address, for hosts that the operator configured.
    case any

    /// Globally reachable unicast addresses only, for hosts that clients or feeds name.
    ///
    /// A proxy resolves names itself, so through a proxy only the written host is checked: addresses that are not public
    /// and names of the local network are refused.
    case publicOnly

    /// The addresses of ``publicOnly`` and these blocks, which the operator configured.
    case publicAnd([AddressBlock])

    package func allows(_ address: NetworkAddress) -> Bool {
        switch self {
        case .any: true
        case .publicOnly: address.isPublic
        case .publicAnd(let blocks): address.isPublic || blocks.contains { $0.contains(address.unmapped) }
        }
    }

    /// Checks the host as written, for a request through a proxy.
    func allowsByName(_ address: WebAddress) -> Bool { allowsByName(address.bareHost) }

    /// Checks a host in lower case, without the brackets of IPv6, before a request to it.
    package func allowsByName(_ host: String) -> Bool {
        switch self {
        case .any: true
        case .publicOnly, .publicAnd:
            if let literal = NetworkAddress(host) {
                allows(literal)
            } else {
                host.contains(".") && !Self.localDomains.contains { host.hasSuffix($0) }
            }
        }
    }

    /// Source: RFC 6761, RFC 6762, RFC 8375; `internal` is reserved by ICANN.
    private static let localDomains = [".localhost", ".local", ".internal", ".home.arpa"]
}
