package import NetworkAddresses

/// The reason why an operation of a hub did not succeed.
///
/// Descriptions are one line and contain no key.
package enum HubError: Error, Sendable, Equatable {
    /// No reply, because of the host, the network, TLS or a timeout; with the problem of the hub's certificate, if any.
    case unreachable(String, DistrustCause? = nil)

    /// The hub's own refusal, in its words. `code` is the protocol's sub-code (`40103`) where there is one, else the
    /// status.
    case refused(status: Int, code: Int, detail: String, retryAfter: Duration?)

    /// The hub does not have this operation, because it is not one of ours; the values are those of its refusal.
    case unsupported(status: Int, detail: String)

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
        case .unsupported: true
        case .unreachable, .malformedReply, .cancelled: false
        }
    }

    /// True if the hub has certainly not carried out the call.
    package var isCertain: Bool {
        switch self {
        case .refused(let status, _, _, _): (400..<500).contains(status) && status != 408
        case .unsupported: true
        case .unreachable, .malformedReply, .cancelled: false
        }
    }

    /// A refusal by a hub.
    package init(_ refusal: ProtocolError) {
        self = .refused(
            status: refusal.status,
            code: refusal.code,
            detail: refusal.sentence,
            retryAfter: refusal.effectiveRetryAfter.map { .seconds($0) }
        )
    }

    /// Calls an operation that other hubs than ours may not have.
    ///
    /// Functions without typed errors need it: Swift 6.3.1 crashes on `catch .unsupported` there.
    ///
    /// - Returns: `nil` if the hub does not have the operation.
    /// - Throws: All other failures.
    package static func ifSupported<Value>(
        _ call: () async throws(HubError) -> Value
    ) async throws(HubError) -> Value? {
        do throws(HubError) {
            return try await call()
        } catch .unsupported {
            return nil
        }
    }
}

extension HubError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreachable(let reason, _): reason
        case .refused(let status, _, let detail, _), .unsupported(let status, let detail):
            "the hub refused with \(status): \(detail)"
        case .malformedReply(let reason): "unexpected answer: \(reason)"
        case .cancelled: "the call was cancelled"
        }
    }
}
