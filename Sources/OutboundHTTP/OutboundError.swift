package import NetworkAddresses

/// The reason why a request got no complete reply.
///
/// A reply with an error status is not an error here. Each description is one line with the host and the reason,
/// without user information, path and query.
package enum OutboundError: Error, Sendable, Equatable {
    /// The URL cannot be used; a retry does not help.
    case badURL(reason: String)

    /// The request cannot be sent, for example because a header contains a line break.
    case badRequest(reason: String)

    /// The name does not resolve, there is no route, or the connection was refused.
    case unreachable(host: String, reason: String)

    /// TLS could not verify the host.
    case untrusted(host: String, reason: String, cause: DistrustCause)

    case timedOut(host: String, stage: OutboundStage, after: Duration)

    /// The host is, or resolved to, an address that the request's ``AddressPolicy`` excludes.
    case refusedAddress(host: String, address: String)

    /// The body is longer than the request allows, or expands beyond reason.
    case tooLarge(host: String, limit: Int)

    /// The body ended early. Bytes as transmitted; `expected` is `nil` when no length was announced.
    case cut(host: String, received: Int, expected: Int?)

    case tooManyRedirects(host: String, limit: Int)

    /// The reply is not HTTP, or its body does not have the encoding that the reply names.
    case malformedReply(host: String, reason: String)

    /// The connection ended before a reply, as idle connections do; the host may or may not have processed the request.
    case ended(host: String, reason: String)

    /// The awaiting task or the stream was cancelled.
    case cancelled

    /// The client was shut down before or while the request ran.
    case shutDown
}

/// The stage at which a request timed out.
package enum OutboundStage: String, Sendable {
    case queueing = "waiting for a free connection"
    case resolving = "resolving the name"
    case connecting = "connecting"
    case waiting = "waiting for the answer"
    case reading = "reading the answer"
}

extension OutboundError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .badURL(let reason): "unusable address: \(reason)"
        case .badRequest(let reason): "unusable request: \(reason)"
        case .unreachable(let host, let reason), .ended(let host, let reason): "cannot reach '\(host)': \(reason)"
        case .untrusted(let host, let reason, _): "cannot trust '\(host)': \(reason)"
        case .timedOut(let host, let stage, let limit):
            "no answer from '\(host)': \(stage.rawValue) took longer than \(Self.text(limit))"
        case .refusedAddress(let host, let address):
            "refused to connect to '\(host)': \(address) is not a public address"
        case .tooLarge(let host, let limit): "the answer of '\(host)' is larger than \(limit) bytes"
        case .cut(let host, let received, let expected?):
            "the answer of '\(host)' was cut after \(received) of \(expected) bytes"
        case .cut(let host, let received, nil): "the answer of '\(host)' was cut after \(received) bytes"
        case .tooManyRedirects(let host, let limit): "'\(host)' redirected more than \(limit) times"
        case .malformedReply(let host, let reason): "the answer of '\(host)' is malformed: \(reason)"
        case .cancelled: "the request was cancelled"
        case .shutDown: "the HTTP client was shut down"
        }
    }

    private static func text(_ duration: Duration) -> String {
        duration >= .seconds(1) && duration.components.attoseconds == 0
            ? "\(duration.components.seconds) s"
            : "\(duration / .milliseconds(1)) ms"
    }
}
