package import HTTPTypes
package import Logging
package import NetworkAddresses
import Synchronization
import WebEdge

/// Logs once that requests come through a proxy that is not in `trusted-proxies`.
///
/// Its clients cannot be distinguished, so each of them can use up what the limits leave to all of them.
package final class ProxyNotice: Sendable {
    private let proxies: TrustedProxies
    private let logger: Logger
    private let isGiven = Atomic(false)

    package init(_ proxies: TrustedProxies, logger: Logger) {
        self.proxies = proxies
        self.logger = logger
    }

    package func examine(_ headers: HTTPFields, peer: NetworkAddress?) {
        guard !isGiven.load(ordering: .relaxed),
            proxies.isUnnamedProxy(peer: peer, field: { headers[named: $0] }),
            !isGiven.exchange(true, ordering: .relaxed)
        else { return }
        logger.warning(
            "requests come through a proxy that is not in 'trusted-proxies'; its clients count as one in all limits",
            metadata: ["proxy.address": "\(peer.map { "\($0)" } ?? "")"]
        )
    }
}
