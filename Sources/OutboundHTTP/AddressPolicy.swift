package import NetworkAddresses

/// Which addresses a request may connect to.
///
/// Checked on the resolved address about to be connected, once more on the connection that carries the request (it may
/// be a kept one that another request opened), and anew at each redirect. A name that changes its address between
/// check and use has no such moment here.
package enum AddressPolicy: Sendable, Equatable {
    /// Every address, for hosts that the operator named.
    case any

    /// Globally reachable unicast only, for hosts that strangers named.
    ///
    /// Behind a proxy, which resolves names itself, only what is written can be judged: addresses that are not public
    /// and names of the local network are refused, the rest is the proxy's to guard.
    case publicOnly

    /// As ``publicOnly``, and these, which the operator named.
    case publicAnd([AddressBlock])

    package func allows(_ address: NetworkAddress) -> Bool {
        switch self {
        case .any: true
        case .publicOnly: address.isPublic
        case .publicAnd(let blocks): address.isPublic || blocks.contains { $0.contains(address.unmapped) }
        }
    }

    /// Judges the host as written, for a request that goes through a proxy.
    func allowsByName(_ address: WebAddress) -> Bool { allowsByName(address.bareHost) }

    /// Judges a host, in small letters and without the brackets of IPv6, before anything is asked of it.
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
