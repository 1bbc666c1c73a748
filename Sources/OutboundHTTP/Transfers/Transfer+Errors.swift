import CCurl
import NetworkAddresses

/// Translates libcurl's results, on the loop's thread, while the transfer has its session.
extension Transfer {
    /// - Returns: `nil` if the transfer is complete.
    func error(_ code: CURLcode) -> OutboundError? {
        if let failure { return failure }
        if code == CURLE_OK, hasHead { return nil }
        let host = plan.address.displayHost
        switch code {
        case CURLE_OK: return .malformedReply(host: host, reason: "it has no header")
        case _ where isSettled: return nil
        case CURLE_URL_MALFORMAT: return .badURL(reason: "malformed")
        case CURLE_COULDNT_RESOLVE_HOST: return .unreachable(host: host, reason: "no such host name")
        case CURLE_COULDNT_RESOLVE_PROXY: return .unreachable(host: host, reason: "the proxy's name is unknown")
        case CURLE_COULDNT_CONNECT:
            if let refusedAddress, !hasOpenedSocket {
                return .refusedAddress(host: host, address: refusedAddress.description)
            }
            return .unreachable(host: host, reason: onTheWay(session?.systemError ?? "could not connect"))
        case CURLE_OPERATION_TIMEDOUT: return timedOut(after: plan.options.connectTimeout)
        case CURLE_PARTIAL_FILE: return cut
        case CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_GOT_NOTHING:
            if hasHead { return cut }
            // libcurl's text contains the status of a proxy that refuses the connection.
            guard plan.options.proxy == nil else { return .unreachable(host: host, reason: onTheWay(reason(code))) }
            return .ended(host: host, reason: "the connection ended without an answer")
        case CURLE_BAD_CONTENT_ENCODING:
            return .malformedReply(host: host, reason: "its body does not have the encoding that it names")
        // The scheme is valid: libcurl reports a reply without a status line like this.
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL:
            return .malformedReply(host: host, reason: "it is not HTTP")
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CONNECT_ERROR, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_PINNEDPUBKEYNOTMATCH:
            return .untrusted(host: host, reason: reason(code), cause: session?.distrustCause(code) ?? .other)
        default: return .unreachable(host: host, reason: reason(code))
        }
    }

    func error(_ code: CURLMcode) -> OutboundError {
        .unreachable(
            host: plan.address.displayHost,
            reason: String(cString: curl_multi_strerror(code)).lowercased()
        )
    }

    func timedOut(after limit: Duration) -> OutboundError {
        let stage = hasHead ? OutboundStage.reading : session?.stage ?? .queueing
        return .timedOut(host: plan.address.displayHost, stage: stage, after: limit)
    }

    private var cut: OutboundError {
        .cut(
            host: plan.address.displayHost,
            received: session?.transmittedBytes ?? 0,
            expected: session?.announcedBytes
        )
    }

    /// Adds the proxy without its credentials, since the proxy itself may be unreachable.
    private func onTheWay(_ reason: String) -> String {
        guard let proxy = plan.options.proxy else { return reason }
        let place = proxy.split(separator: "@").last ?? ""
        return "\(reason) (through the proxy '\(place)')"
    }

    /// Returns the message of libcurl or OpenSSL as one line, for TLS and rare failures.
    private func reason(_ code: CURLcode) -> String {
        let detail = session?.errorMessage ?? ""
        let text = detail.isEmpty ? String(cString: curl_easy_strerror(code)) : detail
        return text.split { $0.isNewline }.joined(separator: " ")
    }
}
