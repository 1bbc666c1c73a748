/// Which addresses a request may connect to.
///
/// Checked on the resolved address about to be connected, once more on the connection that carries the request (it may
/// be a kept one that another request opened), and anew at each redirect. A name that changes its address between
/// check and use has no such moment here.
package enum AddressPolicy: Sendable {
    /// Every address, for hosts that the operator named. Proxies named in the environment are used, but not for
    /// loopback.
    case any

    /// Globally reachable unicast only, for hosts that strangers named. Proxies are not used: behind one, only it
    /// would know what is connected to.
    case publicOnly

    package func allows(_ address: NetworkAddress) -> Bool {
        switch self {
        case .any: true
        case .publicOnly: address.isPublic
        }
    }
}
