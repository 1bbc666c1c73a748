import CCurl
import Glibc
import HostSystem

/// Opens a connection for HTTP/2 on a thread of its own: with libcurl this is one call, which waits.
///
/// `@unchecked Sendable`: confined to that thread until ``TransferLoop/Command/opened(_:)``, then to the loop's; the loop
/// may finish the transfer at any time, which ends the attempt.
final class ConnectionOpening: @unchecked Sendable {
    let plan: TransferPlan
    let session: EasySession
    private let transfer: Transfer
    private var result = CURLE_OK

    /// - Throws: ``OutboundError/unreachable(host:reason:)`` without memory.
    init(_ plan: TransferPlan) throws(OutboundError) {
        guard let session = EasySession() else {
            throw .unreachable(host: plan.address.displayHost, reason: "out of memory")
        }
        self.plan = plan
        self.session = session
        transfer = Transfer(plan)
        transfer.session = session
        try session.prepareConnection(for: transfer)
    }

    var host: String { plan.address.displayHost }

    /// Starts the thread, which reports to `loop` at its end.
    func start(for loop: TransferLoop) throws(OutboundError) {
        do {
            try BackgroundThread.start {
                self.result = self.session.connect()
                loop.send(.opened(self))
            }
        } catch {
            throw .unreachable(host: host, reason: error.reason)
        }
    }

    /// Ends the attempt within a second or so.
    func giveUp() { transfer.finish(.shutDown) }

    /// The reason why there is no connection; `nil` if there is one.
    var failure: OutboundError? { result == CURLE_OK ? nil : transfer.error(result) }
}

// MARK: - HTTP/2 in the TLS handshake

/// Offers HTTP/2 in the TLS handshake, without libcurl's knowledge, which would speak it then.
///
/// Source: RFC 7301; libcurl's `CURLOPT_SSL_CTX_FUNCTION`, OpenSSL's `SSL_CTX_set_alpn_protos`.
enum ProtocolOffer {
    private typealias SetProtocols =
        @convention(c) (UnsafeMutableRawPointer?, UnsafePointer<UInt8>?, UInt32) -> Int32

    /// OpenSSL's function; `nil` if libcurl uses another library for TLS.
    private static let setProtocols: SetProtocols? = {
        guard let library = ccurl_tls_library(), String(cString: library).hasPrefix("OpenSSL/") else { return nil }
        // Of the library that libcurl has loaded.
        return dlsym(nil, "SSL_CTX_set_alpn_protos").map { unsafeBitCast($0, to: SetProtocols.self) }
    }()

    /// "h2" and "http/1.1", each after its length; a host that does not know the first one may choose the second.
    private static let offered: [UInt8] = [2] + Array("h2".utf8) + [8] + Array("http/1.1".utf8)

    /// False if only libcurl's own HTTP/2 can be used.
    static var isPossible: Bool { setProtocols != nil }

    static func make(_ context: UnsafeMutableRawPointer?) -> CURLcode {
        let code = offered.withUnsafeBufferPointer { setProtocols?(context, $0.baseAddress, UInt32($0.count)) }
        return code == 0 ? CURLE_OK : CURLE_OUT_OF_MEMORY
    }
}
