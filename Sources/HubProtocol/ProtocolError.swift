/// A refusal as it travels between hub and client: a status, a code and one sentence.
package struct ProtocolError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The HTTP status of the reply, 400–599.
    package let status: Int
    /// The service's five-digit sub-code where it has one (`40103`), else the status.
    package let code: Int
    /// What was wrong and with what, without the tracking suffix; never holds a key, a push handle or a body.
    package let detail: String
    /// Seconds after which the client may try again, for the reply's `Retry-After`; `nil` leaves it to the status.
    package let retryAfter: Int?

    package init(status: Int, code: Int? = nil, detail: String, retryAfter: Int? = nil) {
        self.status = status
        self.code = code ?? status
        self.detail = detail
        self.retryAfter = retryAfter
    }

    package var description: String { detail }
}

extension ProtocolError {
    /// Sub-codes by which a client tells refusals of one status apart (protocol §1.6).
    package enum Code {
        package static let claimRequired = 40_100
        package static let missingToken = 40_102
        package static let invalidSignature = 40_103
        package static let invalidAudience = 40_104
        package static let malformedToken = 40_105
        package static let expiredToken = 40_106
        /// For now the hub stores no more for bearers of Listen: the key is good.
        package static let listenQuota = 40_310
    }

    /// Why a token was refused.
    ///
    /// The text names come first in the detail, because clients and people search for them. Source: protocol §1.6.
    package enum TokenProblem: Sendable, Equatable {
        case missingToken
        /// With what is wrong in the header, never its content.
        case malformedToken(String)
        case invalidSignature
        /// The same where a rule of the namespace is asked for.
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
            ProtocolError(
                status: 401,
                code: Code.missingToken,
                detail: "MissingToken: The request has no SharedAccessSignature token."
            )
        case .malformedToken(let reason):
            ProtocolError(status: 401, code: Code.malformedToken, detail: "MalformedToken: \(reason)")
        case .invalidSignature:
            ProtocolError(
                status: 401,
                code: Code.invalidSignature,
                detail: "InvalidSignature: The token has an invalid signature."
            )
        case .noNamespaceSignature:
            ProtocolError(
                status: 401,
                code: Code.invalidSignature,
                detail: """
                    InvalidSignature: The token has an invalid signature. This operation wants a rule of the namespace, \
                    such as RootManageSharedAccessKey, whose connection string 'newswire hub keys --namespace' shows.
                    """
            )
        case .expiredToken:
            ProtocolError(status: 401, code: Code.expiredToken, detail: "ExpiredToken: The token is expired.")
        case .invalidAudience:
            ProtocolError(
                status: 401,
                code: Code.invalidAudience,
                detail: "InvalidAudience: The token is signed for another resource."
            )
        case .claimRequired(let rights):
            ProtocolError(
                status: 401,
                code: Code.claimRequired,
                detail: "\(rights.strongestName) claim is required for this operation."
            )
        }
    }

    package static func badRequest(_ detail: String) -> ProtocolError { ProtocolError(status: 400, detail: detail) }

    /// `403` without a time to wait, which is what tells a quota from throttling (§2).
    package static func quotaExceeded(_ detail: String) -> ProtocolError {
        ProtocolError(status: 403, detail: "QuotaExceeded: \(detail)")
    }

    package static func notFound(_ detail: String) -> ProtocolError {
        ProtocolError(status: 404, code: 40400, detail: detail)
    }

    /// `409`, with the service's own opening words (§2).
    package static func conflict(_ detail: String) -> ProtocolError {
        ProtocolError(status: 409, code: 40900, detail: "SubCode=40900. Conflict. \(detail)")
    }

    package static func gone(_ detail: String) -> ProtocolError {
        ProtocolError(status: 410, code: 41000, detail: detail)
    }

    package static func preconditionFailed(_ detail: String) -> ProtocolError {
        ProtocolError(status: 412, detail: detail)
    }

    package static func tooLarge(_ detail: String) -> ProtocolError { ProtocolError(status: 413, detail: detail) }

    package static func unprocessable(_ detail: String) -> ProtocolError {
        ProtocolError(status: 422, detail: detail)
    }

    /// `429` with the time to wait, in whole seconds and at least one.
    package static func tooManyRequests(_ detail: String, wait: Duration) -> ProtocolError {
        let (seconds, rest) = wait.components
        let retryAfter = max(1, Int(clamping: seconds) + (rest > 0 ? 1 : 0))
        return ProtocolError(status: 429, code: 42900, detail: detail, retryAfter: retryAfter)
    }

    /// `429`; the reply's `Retry-After` says when to try again.
    package static func tooManyRequests(_ detail: String) -> ProtocolError {
        ProtocolError(status: 429, code: 42900, detail: detail)
    }

    package static func internalError(_ detail: String) -> ProtocolError {
        ProtocolError(status: 500, detail: detail)
    }

    package static func unavailable(_ detail: String) -> ProtocolError {
        ProtocolError(status: 503, code: 50004, detail: detail)
    }
}
