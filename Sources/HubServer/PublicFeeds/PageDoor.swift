import HTTPTypes
import HubProtocol
package import Hummingbird
package import NetworkAddresses
package import WebPages

/// Decides who may read a hub's pages and feeds without an account.
package struct PageDoor: Sendable {
    /// Headers by which a proxy says that a request is not its own.
    private static let forwarding = ["Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-IP"]

    package let access: PageAccess
    /// Requests of this machine need not be invited: nobody has said otherwise, and the hub serves no other.
    package let admitsThisMachine: Bool

    package init(_ configuration: HubConfiguration) {
        access = configuration.pages ?? .invited
        admitsThisMachine =
            configuration.pages == nil && configuration.trustedProxies.isEmpty
            && HostName(configuration.host)?.isLoopback == true
    }

    /// True if a request is answered; `isProven` says that it brings a token with Listen.
    package func admits(_ request: Request, peer: NetworkAddress?, isProven: Bool) -> Bool {
        switch access {
        case .off: false
        case .public: true
        case .invited: isProven || admitsThisMachine && Self.isOfThisMachine(request, peer: peer)
        }
    }

    /// True if a program of this machine has sent the request on its own behalf.
    ///
    /// The host keeps out a page of somebody else's in a browser here, whose name leads to this machine (DNS rebinding).
    package static func isOfThisMachine(_ request: Request, peer: NetworkAddress?) -> Bool {
        guard peer?.unmapped.isLoopback == true,
            forwarding.allSatisfy({ request.headers[header: $0] == nil }),
            let authority = request.head.authority
        else { return false }
        let end = authority.hasPrefix("[") ? authority.firstIndex(of: "]").map(authority.index(after:)) : nil
        let host = authority[..<(end ?? authority.firstIndex(of: ":") ?? authority.endIndex)]
        return HostName(host)?.isLoopback == true
    }
}
