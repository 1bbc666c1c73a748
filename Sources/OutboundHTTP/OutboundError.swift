/// Why a request brought no complete reply.
///
/// Statuses are not errors here. Each description is one line that names the host and the reason; user information,
/// paths and queries are never part of it.
package enum OutboundError: Error, Sendable, Equatable {
    /// The address cannot be used at all; asking again does not help.
    case badURL(reason: String)

    /// The request cannot be written: a header with a line break, for example.
    case badRequest(reason: String)

    /// No name, no route, or refused.
    case unreachable(host: String, reason: String)

    /// TLS was there and did not prove the host.
    case untrusted(host: String, reason: String, cause: DistrustCause)

    case timedOut(host: String, stage: OutboundStage, after: Duration)

    /// The host is, or resolved to, an address that the request's ``AddressPolicy`` excludes.
    case refusedAddress(host: String, address: String)

    /// The body is longer than the request allows, or expands beyond reason.
    case tooLarge(host: String, limit: Int)

    /// The body ended early. Bytes as transmitted; `expected` is `nil` when no length was announced.
    case cut(host: String, received: Int, expected: Int?)

    case tooManyRedirects(host: String, limit: Int)

    /// What came is not HTTP, or not in the encoding that it claims.
    case malformedReply(host: String, reason: String)

    /// The connection ended before a reply, as one does that was kept too long: nobody knows whether the request was
    /// carried out.
    case ended(host: String, reason: String)

    /// The awaiting task was cancelled, or the stream was.
    case cancelled

    /// The client was shut down before or while the request ran.
    case shutDown
}

/// Why TLS did not prove a host.
package enum DistrustCause: Sendable, Equatable {
    /// The certificate leads to no authority that is trusted here.
    case unknownAuthority
    /// It is made out to others.
    case otherName
    /// It has expired or is not valid yet, or the clock is wrong.
    case notValidNow
    case other
}

/// What a request was doing when its time ended.
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
