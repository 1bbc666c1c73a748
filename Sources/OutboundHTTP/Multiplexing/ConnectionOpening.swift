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

    /// False for a connection whose host has not chosen HTTP/2 in the TLS handshake.
    var speaksHTTP2: Bool { transfer.hasChosenHTTP2 }

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

    private typealias GetProtocol =
        @convention(c) (
            UnsafeMutableRawPointer?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, UnsafeMutablePointer<UInt32>?
        ) -> Void

    private static let getProtocol: GetProtocol? =
        dlsym(nil, "SSL_get0_alpn_selected").map { unsafeBitCast($0, to: GetProtocol.self) }

    /// True if the host has chosen HTTP/2; `tls` is OpenSSL's `SSL`.
    ///
    /// Source: OpenSSL's `SSL_get0_alpn_selected`.
    static func hasChosenHTTP2(_ tls: UnsafeMutableRawPointer?) -> Bool {
        guard let tls, let getProtocol else { return false }
        var name: UnsafePointer<UInt8>?
        var length: UInt32 = 0
        getProtocol(tls, &name, &length)
        return name.map { Array(UnsafeBufferPointer(start: $0, count: Int(length))) == Array("h2".utf8) } ?? false
    }

    /// False if only libcurl's own HTTP/2 can be used.
    static var isPossible: Bool { setProtocols != nil && getProtocol != nil }

    static func make(_ context: UnsafeMutableRawPointer?) -> CURLcode {
        let code = offered.withUnsafeBufferPointer { setProtocols?(context, $0.baseAddress, UInt32($0.count)) }
        return code == 0 ? CURLE_OK : CURLE_OUT_OF_MEMORY
    }
}
