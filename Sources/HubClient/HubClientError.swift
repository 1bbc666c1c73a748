import HubProtocol
package import OutboundHTTP

/// The reason why a call to a hub did not succeed.
///
/// Descriptions are one line and contain no key.
package enum HubClientError: Error, Sendable, Equatable {
    /// No reply, because of the host, the network, TLS or a timeout; with the problem of the hub's certificate, if any.
    case unreachable(String, DistrustCause? = nil)

    /// The hub's own refusal, in its words. `code` is the protocol's sub-code (`40103`) where there is one, else the
    /// status.
    case refused(status: Int, code: Int, detail: String, retryAfter: Duration?)

    /// The reply does not have the form of a hub's reply.
    case malformedReply(String)

    /// The calling task was cancelled, or the HTTP client shut down.
    case cancelled

    /// True if the same call would be refused again: false for failures that pass, such as overload and absence.
    ///
    /// A 403 with a time to wait is throttling (protocol §2).
    package var isPermanent: Bool {
        switch self {
        case .refused(let status, _, _, let retryAfter):
            (400..<500).contains(status) && ![408, 425, 429].contains(status)
                && !(status == 403 && retryAfter != nil)
        case .unreachable, .malformedReply, .cancelled: false
        }
    }

    /// True if the hub has certainly not carried out the call.
    package var isCertain: Bool {
        if case .refused(let status, _, _, _) = self { (400..<500).contains(status) && status != 408 } else { false }
    }

    /// True if the hub has no such route, for a request in which nothing can be wrong.
    package var isOfAbsentRoute: Bool {
        if case .refused(let status, _, _, _) = self { HubCall.absentPlainRoute.contains(status) } else { false }
    }

    init(_ error: OutboundError) {
        switch error {
        case .cancelled, .shutDown: self = .cancelled
        case .malformedReply, .tooLarge: self = .malformedReply(error.description)
        case .untrusted(_, _, let cause): self = .unreachable(error.description, cause)
        default: self = .unreachable(error.description)
        }
    }

    /// A refusal from its reply: the protocol's `<Error>` if there is one.
    init(status: Int, headers: OutboundHeaders, body: String, now: Int64) {
        if (300..<400).contains(status) {
            let target = headers["Location"].map { " to '\(redactedURL($0))'" } ?? ""
            self = .malformedReply("the hub redirects\(target); is the endpoint in the connection string right?")
            return
        }
        let error = ProtocolError(xml: body, status: status)
        let detail = error.map { OneLine.text($0.detail) } ?? ""
        self = .refused(
            status: status,
            code: error?.code ?? status,
            detail: detail.isEmpty ? "no reason given" : detail,
            retryAfter: headers.retryAfter(now: now)
        )
    }
}

extension HubClientError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreachable(let reason, _): reason
        case .refused(let status, _, let detail, _): "the hub refused with \(status): \(detail)"
        case .malformedReply(let reason): "unexpected answer: \(reason)"
        case .cancelled: "the call was cancelled"
        }
    }
}
