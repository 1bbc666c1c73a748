import HTTPTypes
package import HubProtocol
package import Hummingbird
package import NetworkAddresses
import WebEdge

/// Decides which requests may read a hub's pages and feeds without an account.
package struct PageAccessPolicy: Sendable {
    /// Headers that show that a proxy has forwarded a request.
    private static let forwarding = ["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"]

    package let access: PageAccess
    /// True if requests of this machine need no invitation: the setting is absent, and the hub serves no other machine.
    package let admitsThisMachine: Bool

    package init(_ configuration: HubConfiguration) {
        access = configuration.pages ?? .invited
        admitsThisMachine =
            configuration.pages == nil && configuration.trustedProxies.isEmpty
            && HostName(configuration.host)?.isLoopback == true
    }

    /// True if the request may be answered; `isProven` is true if it has a token with Listen.
    package func admits(_ request: Request, peer: NetworkAddress?, isProven: Bool) -> Bool {
        switch access {
        case .off: false
        case .public: true
        case .invited: isProven || admitsThisMachine && Self.isOfThisMachine(request, peer: peer)
        }
    }

    /// True if a program on this machine has sent the request on its own behalf.
    ///
    /// The check of the host excludes a third party's web page in a local browser whose name resolves to this machine
    /// (DNS rebinding).
    package static func isOfThisMachine(_ request: Request, peer: NetworkAddress?) -> Bool {
        guard peer?.unmapped.isLoopback == true,
            forwarding.allSatisfy({ request.headers[named: $0] == nil }),
            let authority = request.head.authority.flatMap(Authority.init)
        else { return false }
        return authority.hostName?.isLoopback == true
    }
}
