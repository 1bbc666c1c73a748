/// What came of asking for a feed.
enum FetchResult: Sendable {
    case document(FetchedDocument)
    /// `304`: nothing new. The validators are those of the answer, where it carried some.
    case unchanged(Validators, freshness: Duration?, movedTo: String?)
    case failed(FetchFailure)
    /// The pass was stopped; nothing is known.
    case cancelled
}

struct FetchedDocument: Sendable {
    let body: [UInt8]
    /// After redirects: the base of relative addresses.
    let url: String
    let contentType: String?
    let validators: Validators
    /// `Cache-Control: max-age`.
    let freshness: Duration?
    /// Where the leading run of permanent redirects led.
    let movedTo: String?
}
