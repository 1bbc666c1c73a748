internal import Crypto

/// The outcome of a request for a feed.
enum FetchResult: Sendable {
    case document(FetchedDocument)
    /// `304`: nothing is new; with the validators of the reply, if it had any.
    case unchanged(FeedValidators, Answer)
    case failed(FetchFailure)
    /// The pass was stopped; the result is unknown.
    case cancelled

    /// The parts of a reply except its content.
    struct Answer: Sendable, Equatable {
        /// The address that replied, after redirects.
        var url: String
        /// The target of the leading run of permanent redirects.
        var movedTo: String?
        var pause = RequestedPause()
        /// Its `Link` header fields.
        var links: [String] = []
    }
}

struct FetchedDocument: Sendable {
    let body: [UInt8]
    /// SHA-256 of the body.
    let hash: [UInt8]
    var contentLocation: String?
    let contentType: String?
    var validators = FeedValidators()
    let answer: FetchResult.Answer

    /// The address after redirects.
    var url: String { answer.url }

    init(
        body: [UInt8],
        contentLocation: String? = nil,
        contentType: String?,
        validators: FeedValidators = FeedValidators(),
        answer: FetchResult.Answer
    ) {
        self.body = body
        hash = Array(SHA256.hash(data: body))
        self.contentLocation = contentLocation
        self.contentType = contentType
        self.validators = validators
        self.answer = answer
    }
}
