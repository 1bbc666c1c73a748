import CCurl
import Foundation
import Glibc
import NetworkAddresses

/// A libcurl easy handle, used for one transfer after the other, and the memory that it refers to.
///
/// Confined to the loop's thread.
final class EasySession {
    /// Largest body that an idle handle may keep, in bytes.
    private static let maximumKeptBody = 16_384

    let easy: UnsafeMutableRawPointer
    private let errorText: UnsafeMutablePointer<CChar>
    private let headerLines = HeaderLines()
    /// The options that are set; `nil` if all must be.
    private var options: HandleOptions?
    private var keptBody = 0

    /// Returns `nil` if memory is exhausted.
    init?() {
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        curl_easy_cleanup(easy)
        errorText.deallocate()
    }

    /// Sets the handle up for a transfer.
    ///
    /// - Throws: ``OutboundError/unreachable(host:reason:)`` if libcurl has no memory for an option.
    func prepare(for transfer: Transfer, corks: SocketCorks) throws(OutboundError) {
        let plan = transfer.plan
        var set = Steps()
        if options != plan.options {
            curl_easy_reset(easy)
            options = nil
            set(configure(plan))
            set(corks.watch(easy))
        }
        errorText.pointee = 0
        if let body = plan.body { set(setBody(body)) }
        set(ccurl_set_list(easy, CURLOPT_HTTPHEADER, headerLines.list(of: transfer)))
        try finish(&set, transfer)
        options = plan.options
    }

    /// Sets a new handle up to open a connection over TLS, and nothing more.
    ///
    /// - Throws: ``OutboundError/unreachable(host:reason:)`` if libcurl has no memory for an option.
    func prepareConnection(for transfer: Transfer) throws(OutboundError) {
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        var set = Steps(code: configure(transfer.plan))
        set(ccurl_set_long(easy, CURLOPT_CONNECT_ONLY, 1))
        set(ccurl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)))
        set(ccurl_set_long(easy, CURLOPT_SSL_ENABLE_ALPN, 0))
        set(ccurl_set_opening_callbacks(easy, context, offerProtocols, noteProgress))
        try finish(&set, transfer)
    }

    /// Steps of which none is taken after one that failed.
    private struct Steps {
        var code = CURLE_OK

        mutating func callAsFunction(_ next: @autoclosure () -> CURLcode) {
            if code == CURLE_OK { code = next() }
        }
    }

    /// Sets what every transfer has.
    private func finish(_ set: inout Steps, _ transfer: Transfer) throws(OutboundError) {
        let context = Unmanaged.passUnretained(transfer).toOpaque()
        set(ccurl_set_text(easy, CURLOPT_URL, transfer.url))
        set(ccurl_set_callbacks(easy, context, receiveHeader, receiveBody, openSocket, checkConnection))
        guard set.code != CURLE_OK else { return }
        let reason = String(cString: curl_easy_strerror(set.code)).lowercased()
        throw .unreachable(host: transfer.plan.address.displayHost, reason: reason)
    }

    /// Opens the connection; waits until it is there.
    func connect() -> CURLcode { curl_easy_perform(easy) }

    /// The socket of the connection; `nil` without one.
    var socket: curl_socket_t? {
        var socket = ccurl_no_socket()
        return ccurl_get_socket(easy, &socket) == CURLE_OK && socket != ccurl_no_socket() ? socket : nil
    }

    /// Returns the transfer that a handle was prepared for; the handle must be in a multi handle.
    static func transfer(of easy: UnsafeMutableRawPointer) -> Transfer? {
        runningTransfer(ccurl_get_private(easy))
    }

    /// Releases memory that an idle handle should not keep; the handle must have left the multi handle.
    func rest() {
        guard keptBody > Self.maximumKeptBody || options?.isStream == true else { return }
        curl_easy_reset(easy)
        options = nil
        keptBody = 0
    }

    /// Sets ``HandleOptions``.
    private func configure(_ plan: TransferPlan) -> CURLcode {
        var set = Steps()
        set(ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText))
        set(ccurl_set_text(easy, CURLOPT_PROTOCOLS_STR, "http,https"))
        set(ccurl_set_text(easy, CURLOPT_USERAGENT, plan.options.userAgent))
        set(ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0))
        set(ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1))
        set(ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1))
        // Otherwise ending a transfer during a name look-up would block the thread, and all transfers, until it ends.
        set(ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1))
        set(ccurl_set_long(easy, CURLOPT_CONNECTTIMEOUT_MS, max(1, plan.options.connectTimeout.milliseconds)))
        if let user = plan.address.user {
            set(ccurl_set_text(easy, CURLOPT_USERNAME, user))
            set(ccurl_set_text(easy, CURLOPT_PASSWORD, plan.address.password ?? ""))
        }
        if let file = plan.options.authorities.file { set(ccurl_set_text(easy, CURLOPT_CAINFO, file)) }
        if let folder = plan.options.authorities.folder { set(ccurl_set_text(easy, CURLOPT_CAPATH, folder)) }
        // Otherwise the authorities in the system's folder would be trusted as well.
        if plan.options.authorities.isExclusive { set(ccurl_set_pointer(easy, CURLOPT_CAPATH, nil)) }
        if let hash = plan.options.publicKeyHash {
            set(ccurl_set_text(easy, CURLOPT_PINNEDPUBLICKEY, "sha256//\(Data(hash).base64EncodedString())"))
            set(ccurl_set_long(easy, CURLOPT_SSL_VERIFYPEER, 0))
            set(ccurl_set_long(easy, CURLOPT_SSL_VERIFYHOST, 0))
        }
        if let certificate = plan.options.clientCertificate {
            set(certificate.chain.withUnsafeBytes { ccurl_set_certificate(easy, $0.baseAddress, $0.count) })
            set(certificate.key.withUnsafeBytes { ccurl_set_key(easy, $0.baseAddress, $0.count) })
        }
        if plan.options.opensConnection { set(ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 1)) }
        // Always set both: otherwise libcurl reads the environment.
        set(ccurl_set_text(easy, CURLOPT_PROXY, plan.options.proxy ?? ""))
        set(ccurl_set_text(easy, CURLOPT_NOPROXY, ""))
        if plan.options.isStream {
            set(ccurl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1)))
            set(ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 1))
            set(ccurl_set_long(easy, CURLOPT_FORBID_REUSE, 1))
            set(ccurl_set_long(easy, CURLOPT_TCP_KEEPALIVE, 1))
        } else {
            if plan.options.decodesBody, let codings = ContentCodings.accepted {
                set(ccurl_set_text(easy, CURLOPT_ACCEPT_ENCODING, codings))
            }
            // Without TLS, only the first reply shows whether the host multiplexes, and it may be slow.
            set(ccurl_set_long(easy, CURLOPT_PIPEWAIT, plan.address.scheme == "https" ? 1 : 0))
        }
        set(setMethod(plan))
        return set.code
    }

    private func setMethod(_ plan: TransferPlan) -> CURLcode {
        if plan.options.method == "HEAD" { return ccurl_set_long(easy, CURLOPT_NOBODY, 1) }
        let bodyMethods = ["POST", "PUT", "PATCH"]
        guard plan.body != nil || bodyMethods.contains(plan.options.method) else {
            return plan.options.method == "GET"
                ? CURLE_OK : ccurl_set_text(easy, CURLOPT_CUSTOMREQUEST, plan.options.method)
        }
        // Makes it a POST; the body itself is set for each transfer.
        let code = setBody([])
        guard code == CURLE_OK, plan.options.method != "POST" else { return code }
        return ccurl_set_text(easy, CURLOPT_CUSTOMREQUEST, plan.options.method)
    }

    private func setBody(_ body: [UInt8]) -> CURLcode {
        keptBody = body.count
        return body.withUnsafeBytes { bytes in
            withUnsafePointer(to: UInt8(0)) { empty in
                ccurl_set_body(easy, bytes.baseAddress ?? UnsafeRawPointer(empty), curl_off_t(bytes.count))
            }
        }
    }
}

// MARK: - Information about the transfer

extension EasySession {
    var errorMessage: String { String(cString: errorText) }

    /// The system's message for a failed connect; `nil` if there was no system error.
    var systemError: String? {
        let number = long(CURLINFO_OS_ERRNO)
        return number == 0 ? nil : String(cString: strerror(Int32(number))).lowercased()
    }

    /// True if the host has chosen HTTP/2 in the TLS handshake; to be asked in a callback.
    var hasChosenHTTP2: Bool { ProtocolOffer.hasChosenHTTP2(ccurl_get_tls(easy)) }

    var isMultiplexed: Bool { long(CURLINFO_HTTP_VERSION) == Int(CURL_HTTP_VERSION_2_0) }

    /// Returns the cause of a failed verification, from OpenSSL's error number.
    ///
    /// Source: openssl-verification-options(1), `X509_V_ERR_…`.
    func distrustCause(_ code: CURLcode) -> DistrustCause {
        if code == CURLE_SSL_CACERT_BADFILE { return .unusableAuthorities }
        guard code == CURLE_PEER_FAILED_VERIFICATION else { return .other }
        return switch long(CURLINFO_SSL_VERIFYRESULT) {
        // 0: the chain is valid, and libcurl, which compares names itself, refused the name; 1 is unspecified.
        case 0, 1: .otherName
        case 2, 18, 19, 20, 21, 24, 27: .unknownAuthority
        case 9, 10: .notValidNow
        case 62, 64: .otherName
        default: .other
        }
    }

    /// Number of bytes of the body as transmitted.
    var transmittedBytes: Int { size(CURLINFO_SIZE_DOWNLOAD_T) }

    var announcedBytes: Int? {
        let announced = size(CURLINFO_CONTENT_LENGTH_DOWNLOAD_T)
        return announced >= 0 ? announced : nil
    }

    /// The stage of a transfer that has no reply yet.
    var stage: OutboundStage {
        if size(CURLINFO_NAMELOOKUP_TIME_T) == 0 { return .resolving }
        return size(CURLINFO_PRETRANSFER_TIME_T) == 0 ? .connecting : .waiting
    }

    /// True if a body of more than 4 MiB was decoded from less than a 200th of its size.
    ///
    /// Text compresses to about a 20th. With the limit of the size alone, a few kilobytes could cost 16 MiB a request.
    func isExpandingBeyondReason(_ decodedBytes: Int) -> Bool {
        decodedBytes > 4 * 1_048_576 && decodedBytes / 200 > transmittedBytes + Int(CURL_MAX_WRITE_SIZE)
    }

    private func long(_ info: CURLINFO) -> Int {
        var value = 0
        return ccurl_get_long(easy, info, &value) == CURLE_OK ? value : 0
    }

    private func size(_ info: CURLINFO) -> Int {
        var value: curl_off_t = 0
        return ccurl_get_size(easy, info, &value) == CURLE_OK ? Int(value) : 0
    }
}

// MARK: - Callbacks

// Free functions, not closures: a closure inherits the isolation of its context and would trap on libcurl's thread.

private func runningTransfer(_ context: UnsafeMutableRawPointer?) -> Transfer? {
    context.map { Unmanaged<Transfer>.fromOpaque($0).takeUnretainedValue() }
}

private func receiveHeader(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let total = size * count
    guard let transfer = runningTransfer(context) else { return 0 }
    return transfer.receiveHeader(UnsafeRawBufferPointer(start: bytes, count: total)) ? total : -1
}

private func receiveBody(
    _ bytes: UnsafeMutablePointer<CChar>?,
    _ size: Int,
    _ count: Int,
    _ context: UnsafeMutableRawPointer?
) -> Int {
    let total = size * count
    guard let transfer = runningTransfer(context) else { return 0 }
    switch transfer.receiveBody(UnsafeRawBufferPointer(start: bytes, count: total)) {
    case .taken: return total
    case .paused: return ccurl_pause_writing()
    case .refused: return -1
    }
}

private func openSocket(
    _ context: UnsafeMutableRawPointer?,
    _ purpose: curlsocktype,
    _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let transfer = runningTransfer(context), let address else { return ccurl_no_socket() }
    guard let offset = MemoryLayout<curl_sockaddr>.offset(of: \.addr) else { return ccurl_no_socket() }
    // libcurl allocates room for addresses longer than `sockaddr`; `addrlen` is the actual length.
    let start = UnsafeRawPointer(address).advanced(by: offset)
    let bytes = UnsafeRawBufferPointer(start: start, count: Int(address.pointee.addrlen))
    return transfer.openSocket(address, target: NetworkAddress(socketAddress: bytes))
}

private func checkConnection(
    _ context: UnsafeMutableRawPointer?,
    _ remote: UnsafeMutablePointer<CChar>?,
    _ local: UnsafeMutablePointer<CChar>?,
    _ remotePort: Int32,
    _ localPort: Int32
) -> Int32 {
    guard let transfer = runningTransfer(context), let remote else { return CURL_PREREQFUNC_ABORT }
    let isAccepted = transfer.acceptConnection(
        to: String(cString: remote),
        LiveConnections.Name(remote: String(cString: remote), remotePort: remotePort, localPort: localPort)
    )
    return isAccepted ? CURL_PREREQFUNC_OK : CURL_PREREQFUNC_ABORT
}

private func offerProtocols(
    _: UnsafeMutableRawPointer?,
    _ tls: UnsafeMutableRawPointer?,
    _: UnsafeMutableRawPointer?
) -> CURLcode {
    ProtocolOffer.make(tls)
}

private func noteProgress(
    _ context: UnsafeMutableRawPointer?,
    _: curl_off_t,
    _: curl_off_t,
    _: curl_off_t,
    _: curl_off_t
) -> Int32 {
    runningTransfer(context)?.isFinished == true ? 1 : 0
}

extension Duration {
    /// Whole milliseconds, at most 24 days: more do not fit into a C `long` of 32 bits.
    var milliseconds: Int {
        let whole = min(components.seconds, 2_000_000) * 1_000 + components.attoseconds / 1_000_000_000_000_000
        return Int(whole)
    }
}
