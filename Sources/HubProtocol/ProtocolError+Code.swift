extension ProtocolError {
    /// A kind of refusal by our own hub; `docs/errors.md` has the remedy for each.
    ///
    /// The service's own numbers are used where it has one (protocol §1.6); ours begin with their status.
    package struct Code: Sendable {
        package let number: Int
        /// The HTTP status of the reply.
        package let status: Int
        package let name: String
        /// The meaning of the code, in one sentence.
        package let sentence: String

        package static let badRequest = Code(40_000, "badRequest", "The request is not valid.")
        package static let claimRequired = Code(40_100, "claimRequired", "The token's rule lacks the needed right.")
        package static let missingToken = Code(40_102, "missingToken", "The request has no token.")
        package static let invalidSignature = Code(40_103, "invalidSignature", "No key of this hub signed the token.")
        package static let invalidAudience = Code(40_104, "invalidAudience", "The token is for another resource.")
        package static let malformedToken = Code(40_105, "malformedToken", "The token cannot be read.")
        package static let expiredToken = Code(40_106, "expiredToken", "The token has expired.")
        package static let forbidden = Code(40_300, "forbidden", "The hub is disabled, or the namespace is full.")
        package static let listenQuota = Code(40_310, "listenQuota", "The hub stores no more for bearers of Listen.")
        package static let quotaExceeded = Code(
            40_311,
            "quotaExceeded",
            "The hub keeps no more scheduled messages or publishers."
        )
        package static let notFound = Code(40_400, "notFound", "There is nothing at this address.")
        package static let tooSlow = Code(40_800, "tooSlow", "The request came too slowly.")
        package static let conflict = Code(40_900, "conflict", "The object exists, or can no longer be changed.")
        package static let gone = Code(41_000, "gone", "The registration is gone, and its id is not used again.")
        package static let preconditionFailed = Code(41_200, "preconditionFailed", "The ETag is not the current one.")
        package static let tooLarge = Code(41_300, "tooLarge", "The body is larger than the hub accepts.")
        package static let unsupportedMedia = Code(41_500, "unsupportedMedia", "The body is encoded in an unknown way.")
        package static let unprocessable = Code(
            42_200,
            "unprocessable",
            "The Idempotency-Key belongs to another message."
        )
        package static let tooManyRequests = Code(42_900, "tooManyRequests", "There are too many requests or streams.")
        package static let headTooLarge = Code(
            43_100,
            "headTooLarge",
            "The header fields are larger than the hub accepts."
        )
        package static let internalError = Code(50_000, "internalError", "The hub failed.")
        package static let unavailable = Code(50_004, status: 503, "unavailable", "The hub cannot do this now.")

        /// The catalogue, by number.
        package static let all = [
            badRequest, claimRequired, missingToken, invalidSignature, invalidAudience, malformedToken,
            expiredToken, forbidden, listenQuota, quotaExceeded, notFound, tooSlow, conflict, gone,
            preconditionFailed, tooLarge, unsupportedMedia, unprocessable, tooManyRequests, headTooLarge, internalError,
            unavailable,
        ]

        private init(_ number: Int, status: Int? = nil, _ name: String, _ sentence: String) {
            (self.number, self.status, self.name, self.sentence) = (number, status ?? number / 100, name, sentence)
        }

        /// The first code with a status; `nil` for 401, whose codes are distinguished by their texts.
        package init?(status: Int) {
            guard status != 401, let code = Self.all.first(where: { $0.status == status }) else { return nil }
            self = code
        }

        /// Compares a number from the wire, which may be the service's own, with a code.
        package static func == (number: Int?, code: Code) -> Bool { number == code.number }

        package static func ~= (code: Code, number: Int) -> Bool { number == code }
    }
}
