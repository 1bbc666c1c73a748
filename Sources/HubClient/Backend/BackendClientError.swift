import Formats
import FoundationEssentials
import HubProtocol
import OutboundHTTP
package import NetworkAddresses

/// The reason why a call to an app backend did not succeed.
///
/// Descriptions are one line and contain no password, token or payload.
package enum BackendClientError: Error, Sendable, Equatable {
    /// No reply: host, network, TLS or time; with the problem of the certificate, if that is the reason.
    case unreachable(String, DistrustCause? = nil)
    /// The app backend's own refusal, in its words.
    case refused(status: Int, reason: String, retryAfter: Duration?)
    /// The answer is not one that an app backend gives.
    case malformedReply(String)
    /// The calling task was cancelled, or the HTTP client shut down.
    case cancelled

    /// True if the same call may succeed later without any change.
    package var isTemporary: Bool {
        switch self {
        case .unreachable, .malformedReply: true
        case .refused(let status, _, _): status >= 500 || [408, 425, 429].contains(status)
        case .cancelled: false
        }
    }

    package var retryAfter: Duration? { if case .refused(_, _, let wait) = self { wait } else { nil } }

    package var status: Int? { if case .refused(let status, _, _) = self { status } else { nil } }

    /// A refusal from its reply: `{"error":"one sentence"}`, if it is one of an app backend.
    init(_ reply: OutboundResponse, now: Int64) {
        guard reply.status >= 400 else {
            let target = reply.headers["Location"].map { " to '\(redactedURL($0))'" } ?? ""
            self = .malformedReply("it answered \(reply.status)\(target)")
            return
        }
        let words = try? JSONReader.decode([String: String].self, from: reply.body)
        let reason = words?["error"].map(OneLine.text) ?? ""
        if reply.status == 404, reason.isEmpty {
            self = .malformedReply("there is no app backend at this address")
            return
        }
        self = .refused(
            status: reply.status,
            reason: reason.isEmpty ? "no reason given" : reason,
            retryAfter: reply.headers.retryAfter(now: now)
        )
    }
}

extension BackendClientError: CallError {}

extension BackendClientError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreachable(let reason, _): reason
        case .refused(let status, let reason, _): "the app backend refused with \(status): \(reason)"
        case .malformedReply(let reason): "unexpected answer of the app backend: \(reason)"
        case .cancelled: "the call was cancelled"
        }
    }
}
