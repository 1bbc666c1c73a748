import FairShares
import Foundation
import Hummingbird
import Logging
import WebEdge

/// The parts that all connections of a server share.
struct ServerEdge: Sendable {
    /// Finds clients behind proxies.
    let client: ClientAddress
    let connections: ConnectionQuota
    let responses = ResponseCounts()
    /// `nil` without TLS.
    let tls: CertificateReloader?
    /// True if plain HTTP is accepted from other machines, too; from this machine it always is, because nobody can
    /// listen in.
    let takesPlainHTTP: Bool
    var limits = ConnectionLimits()
    let logger: Logger
}

extension ServerEdge {
    /// The edge of a hub.
    ///
    /// - Throws: ``CertificateProblem``.
    init(_ configuration: HubConfiguration, logger: Logger) throws {
        self.init(
            client: ClientAddress(
                publicAddress: configuration.publicAddress,
                port: configuration.port,
                trustedProxies: configuration.trustedProxies,
                hostNames: configuration.hostNames
            ),
            connections: ConnectionQuota(
                configuration.connectionLimits,
                grouping: configuration.grouping,
                clock: configuration.monotonic
            ),
            tls: try configuration.certificate.map {
                try CertificateReloader($0, now: configuration.now, logger: logger)
            },
            takesPlainHTTP: configuration.takesPlainHTTP,
            limits: configuration.connectionLimits,
            logger: logger
        )
    }

    /// The edge of a server that is not a hub's.
    ///
    /// - Throws: ``CertificateProblem``.
    init(_ configuration: ListenConfiguration, logger: Logger) throws {
        self.init(
            client: ClientAddress(
                publicAddress: configuration.publicAddress,
                port: configuration.port,
                trustedProxies: configuration.trustedProxies
            ),
            connections: ConnectionQuota(
                ConnectionLimits(),
                grouping: .standard,
                clock: { Housekeeping.monotonic }
            ),
            tls: try CertificateReloader(configuration.certificate, now: { Date() }, logger: logger),
            takesPlainHTTP: configuration.takesPlainHTTP,
            logger: logger
        )
    }
}
