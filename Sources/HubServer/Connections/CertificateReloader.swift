import Certificates
import Foundation
import HubProtocol
import Logging
import NIOCore
import NIOPosix
import NIOSSL
import ServiceLifecycle
import Signals
import Synchronization
import UnixSignals
import WebEdge

/// Keeps the hub's TLS certificate up to date for new connections.
final class CertificateReloader: Service {
    /// Time between two checks of the certificate's files.
    static let interval = Duration.seconds(5)
    /// Time for a client to close TLS cleanly.
    private static let shutdownTimeout = TimeAmount.seconds(2)

    private struct Looks {
        var watch: CertificateWatch
        /// The problem with the files, as last seen and as last logged.
        var seen: String?
        var said: String?
    }

    private let source: CertificateSource
    private let now: @Sendable () -> Date
    private let logger: Logger
    private let makeContext: @Sendable (ServerIdentity) throws -> NIOSSLContext
    /// Locked while files are read, which may take long.
    private let looks: Mutex<Looks>
    /// Used by event loops, which must not wait for a disk.
    private let current: Mutex<NIOSSLContext>
    private let shown: Mutex<ShownCertificate>

    /// - Throws: ``CertificateProblem`` if there is no certificate to start with.
    init(
        _ source: CertificateSource,
        now: @escaping @Sendable () -> Date,
        logger: Logger,
        makeContext: @escaping @Sendable (ServerIdentity) throws -> NIOSSLContext = CertificateReloader.context
    ) throws {
        self.source = source
        self.now = now
        self.logger = logger
        self.makeContext = makeContext
        var watch = CertificateWatch(source)
        guard let identity = try watch.look(at: now()) else { preconditionFailure("a first look finds one or throws") }
        current = Mutex(try makeContext(identity))
        shown = Mutex(ShownCertificate(identity))
        looks = Mutex(Looks(watch: watch))
        Self.log(identity.corrections, logger)
        if case .local(let local) = source, identity.renewAt == nil {
            logger.warning(
                """
                the authority of the TLS certificate expires soon; to renew it, remove ca.pem and ca-key.pem, and \
                restart
                """,
                metadata: [
                    "state.path": "\(local.directory)",
                    "tls.expires": "\(ISODateTime.formatSeconds(identity.facts.notAfter))",
                ]
            )
        }
    }

    /// The certificate in use, for operators.
    struct ShownCertificate: Sendable {
        let facts: CertificateFacts
        /// True if the hub renews the certificate itself.
        let isRenewed: Bool

        init(_ identity: ServerIdentity) {
            facts = identity.facts
            isRenewed = identity.renewAt != nil
        }
    }

    var certificate: ShownCertificate { shown.withLock { $0 } }

    /// The context for the next connection.
    var context: NIOSSLContext { current.withLock { $0 } }

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await repeatUntilStopped(every: Self.interval) { await self.lookAside() } }
                // Without files there is nothing to reload.
                guard case .files = self.source else { return }
                group.addTask {
                    for await _ in await UnixSignalsSequence(trapping: .sighup) { await self.lookAside() }
                }
            }
        }
    }

    /// Checks the files from a thread that may wait for a disk.
    private func lookAside() async {
        try? await NIOThreadPool.singleton.runIfActive { self.look() }
    }

    /// Replaces the certificate if its files have changed; a broken one leaves the former in use.
    ///
    /// Certificate and key are two files, which change one after the other. A problem is therefore logged only if the
    /// next check finds it unchanged, and only once.
    func look() {
        let identity: ServerIdentity? = looks.withLock { looks in
            do {
                var watch = looks.watch
                guard let identity = try watch.look(at: now()) else { return nil }
                let context = try makeContext(identity)
                current.withLock { $0 = context }
                shown.withLock { $0 = ShownCertificate(identity) }
                // Set only now: if TLS refuses a certificate, the watch must report it again.
                looks = Looks(watch: watch)
                return identity
            } catch {
                let reason = "\(error)"
                if looks.seen == reason, looks.said != reason {
                    looks.said = reason
                    logger.error(
                        "cannot use the new TLS certificate; the former one stays in use",
                        metadata: ["error.reason": "\(reason)"]
                    )
                }
                looks.seen = reason
                return nil
            }
        }
        guard let identity else { return }
        Self.log(identity.corrections, logger)
        logger.notice(
            "the TLS certificate was replaced",
            metadata: [
                "tls.names": "\(identity.facts.names.joined(separator: ","))",
                "tls.expires": "\(ISODateTime.formatSeconds(identity.facts.notAfter))",
            ]
        )
    }

    private static func log(_ corrections: [ServerIdentity.Correction], _ logger: Logger) {
        for correction in corrections {
            switch correction {
            case .server(let start):
                logger.warning(
                    "replaced the TLS certificate that was made while the clock was ahead; clients accept the new one",
                    metadata: ["tls.begins": "\(ISODateTime.formatSeconds(start))"]
                )
            case .authority(let start):
                logger.warning(
                    """
                    the authority of the TLS certificate was made while the clock was ahead; its key has signed a new \
                    ca.pem, which clients with the former file need
                    """,
                    metadata: ["tls.begins": "\(ISODateTime.formatSeconds(start))"]
                )
            }
        }
    }

    static func context(_ identity: ServerIdentity) throws -> NIOSSLContext {
        var configuration = try identity.tlsConfiguration()
        configuration.applicationProtocols = TLSHandshake.protocols
        configuration.shutdownTimeout = shutdownTimeout
        return try NIOSSLContext(configuration: configuration)
    }
}
