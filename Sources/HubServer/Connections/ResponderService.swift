package import Certificates
import FairShares
import Foundation
package import Hummingbird
package import Logging
package import NIOCore
import NIOPosix
package import NetworkAddresses
package import ServiceLifecycle
import UnixSignals
import WebEdge

/// The address and options for serving a responder that is not a hub's.
package struct ListenConfiguration: Sendable {
    /// An address of this machine.
    package var host: String
    /// 0 means any free port.
    package var port: Int
    /// The source of the TLS certificate.
    package var certificate: CertificateSource
    /// True if plain HTTP is accepted from other machines, too.
    package var takesPlainHTTP: Bool
    /// The address at which clients reach the server.
    package var publicAddress: PublicAddress
    /// Proxies whose `X-Forwarded-For` is trusted.
    package var trustedProxies: [AddressBlock]
    /// Maximum duration of a stop.
    package var drain: Duration

    package init(
        host: String,
        port: Int,
        certificate: CertificateSource,
        takesPlainHTTP: Bool,
        publicAddress: PublicAddress,
        trustedProxies: [AddressBlock],
        drain: Duration
    ) {
        self.host = host
        self.port = port
        self.certificate = certificate
        self.takesPlainHTTP = takesPlainHTTP
        self.publicAddress = publicAddress
        self.trustedProxies = trustedProxies
        self.drain = drain
    }
}

/// Serves a responder that is not a hub's in the same way as a hub: TLS with HTTP/2, plain HTTP on this machine, and
/// limits on connections and slow clients.
package final class ResponderService: Sendable {
    /// Number of threads that serve connections.
    private static let eventLoops = 2

    private let configuration: ListenConfiguration
    private let edge: ServerEdge

    /// - Throws: ``CertificateProblem``.
    package init(_ configuration: ListenConfiguration, logger: Logger) throws {
        self.configuration = configuration
        edge = try ServerEdge(configuration, logger: logger)
    }

    /// Records that a connection has sent valid credentials, so that it is not closed in favour of others.
    package func prove(_ channel: any Channel) { edge.connections.prove(channel) }

    /// Serves until the task is cancelled or a signal requests a stop.
    ///
    /// - Parameters:
    ///   - responder: Answers requests.
    ///   - services: Run as long as requests are served.
    ///   - stopsOnSignals: True if SIGTERM and SIGINT request a stop, after which the process ends, as for a hub.
    ///   - onRunning: Called with the port when connections are accepted.
    /// - Throws: ``HubListenError``, or the error of a service that failed.
    package func run<Responder: HTTPResponder>(
        _ responder: Responder,
        with services: [any Service],
        stopsOnSignals: Bool = false,
        onRunning: @escaping @Sendable (_ port: Int) async -> Void
    ) async throws where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: Self.eventLoops)
        let listener = PortListener(
            host: configuration.host,
            port: configuration.port,
            responder: LongWorkResponder(base: responder),
            streams: nil,
            edge: edge,
            group: threads
        )
        try await ServiceGroup.run(
            services + listener.services(onRunning: onRunning) + [MemoryReturn()],
            stopsOnSignals: stopsOnSignals,
            drain: configuration.drain,
            logger: edge.logger
        ) {
            if !stopsOnSignals { try await threads.shutdownGracefully() }
        }
    }
}
