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
    var contentLocation: String?
    let contentType: String?
    var validators = FeedValidators()
    let answer: FetchResult.Answer

    /// SHA-256 of the body.
    var hash: [UInt8] { Array(SHA256.hash(data: body)) }
    /// The address after redirects.
    var url: String { answer.url }
}
