/// A refusal as it travels between hub and client: a status, a code and one sentence.
package struct ProtocolError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The HTTP status of the reply, 400–599.
    package let status: Int
    /// The five-digit number of a ``Code`` or of the service's own sub-code; the status where neither is known.
    package let code: Int
    /// The problem and its object, without the tracking suffix; never holds a key, a push handle or a body.
    package let detail: String
    /// Seconds after which the client may try again, for the reply's `Retry-After`; `nil` for the default of the
    /// status.
    package let retryAfter: Int?

    /// A refusal whose status comes from elsewhere; without a code it gets the catalogue's code for the status.
    package init(status: Int, code: Int? = nil, detail: String, retryAfter: Int? = nil) {
        self.status = status
        self.code = code ?? Code(status: status)?.number ?? status
        self.detail = detail
        self.retryAfter = retryAfter
    }

    /// A refusal of this hub's own.
    package init(_ code: Code, _ detail: String, retryAfter: Int? = nil) {
        self.init(status: code.status, code: code.number, detail: detail, retryAfter: retryAfter)
    }

    package var description: String { detail }

    /// Seconds after which a client may retry a request that the hub could not handle.
    private static let usualRetry = 2

    /// The value of `Retry-After`; `nil` if a retry does not help.
    package var effectiveRetryAfter: Int? { retryAfter ?? (status == 503 || status == 429 ? Self.usualRetry : nil) }
}

extension ProtocolError {
    /// The reason why a token was refused.
    ///
    /// The details begin with names in text, because clients and people search for them. Source: protocol §1.6.
    package enum TokenProblem: Sendable, Equatable {
        case missingToken
        /// With the problem of the header, never its content.
        case malformedToken(String)
        case invalidSignature
        /// The same, where a rule of the namespace is required.
        case noNamespaceSignature
        case expiredToken
        /// Signed for another resource than the one addressed.
        case invalidAudience
        /// The token's rule lacks a right that the operation needs; the first of manage, send, listen is named.
        case claimRequired(AccessRights)
    }

    /// `401` with a body: newer front ends answer a missing claim with an empty 403, which one SDK retries (§1.6).
    package static func unauthorized(_ problem: TokenProblem) -> ProtocolError {
        switch problem {
        case .missingToken:
            ProtocolError(.missingToken, "MissingToken: The request has no SharedAccessSignature token.")
        case .malformedToken(let reason):
            ProtocolError(.malformedToken, "MalformedToken: \(reason)")
        case .invalidSignature:
            ProtocolError(.invalidSignature, "InvalidSignature: The token has an invalid signature.")
        case .noNamespaceSignature:
            ProtocolError(
                .invalidSignature,
                """
                InvalidSignature: The token has an invalid signature. This operation needs a rule of the namespace, \
                such as RootManageSharedAccessKey.
                """
            )
        case .expiredToken:
            ProtocolError(.expiredToken, "ExpiredToken: The token is expired.")
        case .invalidAudience:
            ProtocolError(.invalidAudience, "InvalidAudience: The token is signed for another resource.")
        case .claimRequired(let rights):
            ProtocolError(.claimRequired, "\(rights.strongestName) claim is required for this operation.")
        }
    }

    package static func badRequest(_ detail: String) -> ProtocolError { ProtocolError(.badRequest, detail) }

    package static func forbidden(_ detail: String) -> ProtocolError { ProtocolError(.forbidden, detail) }

    /// `403` without a time to wait, which distinguishes a quota from throttling (§2).
    package static func quotaExceeded(_ detail: String) -> ProtocolError {
        ProtocolError(.quotaExceeded, "QuotaExceeded: \(detail)")
    }

    package static func notFound(_ detail: String) -> ProtocolError { ProtocolError(.notFound, detail) }

    package static func tooSlow(_ detail: String) -> ProtocolError { ProtocolError(.tooSlow, detail) }

    /// `409`, with the service's own opening words (§2).
    package static func conflict(_ detail: String) -> ProtocolError {
        ProtocolError(.conflict, "SubCode=\(Code.conflict.number). Conflict. \(detail)")
    }

    package static func gone(_ detail: String) -> ProtocolError { ProtocolError(.gone, detail) }

    package static func preconditionFailed(_ detail: String) -> ProtocolError {
        ProtocolError(.preconditionFailed, detail)
    }

    package static func tooLarge(_ detail: String) -> ProtocolError { ProtocolError(.tooLarge, detail) }

    package static func unprocessable(_ detail: String) -> ProtocolError { ProtocolError(.unprocessable, detail) }

    /// `429` with the time to wait, in whole seconds and at least one; without it the reply names a usual one.
    package static func tooManyRequests(_ detail: String, wait: Duration? = nil) -> ProtocolError {
        ProtocolError(.tooManyRequests, detail, retryAfter: wait?.secondsToWait)
    }

    package static func internalError(_ detail: String) -> ProtocolError { ProtocolError(.internalError, detail) }

    package static func unavailable(_ detail: String) -> ProtocolError { ProtocolError(.unavailable, detail) }

    package static let stopping = unavailable("The hub is stopping; try again shortly.")
}

extension Duration {
    /// The value of `Retry-After` in whole seconds, rounded up and at least 1: a client that retries too early is
    /// refused again.
    package var secondsToWait: Int { max(1, Int(clamping: components.seconds) + (components.attoseconds > 0 ? 1 : 0)) }
}
