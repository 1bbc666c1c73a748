internal import Crypto

/// The outcome of asking for a feed.
enum FetchResult: Sendable {
    case document(FetchedDocument)
    /// `304`: nothing new. The validators are those of the answer, where it carried some.
    case unchanged(Validators, Answer)
    case failed(FetchFailure)
    /// The pass was stopped; nothing is known.
    case cancelled

    /// The parts of an answer beside its content.
    struct Answer: Sendable, Equatable {
        /// The address that answered, after redirects.
        var url: String
        /// The target of the leading run of permanent redirects.
        var movedTo: String?
        var wish = ServerWish()
        /// Its `Link` fields.
        var links: [String] = []
    }
}

struct FetchedDocument: Sendable {
    let body: [UInt8]
    let contentLocation: String?
    let contentType: String?
    let validators: Validators
    let answer: FetchResult.Answer
    /// SHA-256 of the body.
    let hash: [UInt8]

    init(
        body: [UInt8],
        contentLocation: String? = nil,
        contentType: String?,
        validators: Validators = Validators(),
        answer: FetchResult.Answer
    ) {
        self.body = body
        self.contentLocation = contentLocation
        self.contentType = contentType
        self.validators = validators
        self.answer = answer
        hash = Array(SHA256.hash(data: body))
    }

    /// After redirects.
    var url: String { answer.url }
}
