internal import FeedLists
internal import FoundationEssentials
internal import OutboundHTTP

/// Requests feeds politely.
///
/// Source: feeds.md §10.
struct FeedFetcher: Sendable {
    /// Number of replies with the same body after which the `ETag` is not sent: some servers handle their own badly.
    private static let patience = 3

    let http: OutboundClient
    var now: @Sendable () -> Date = { Date() }

    /// Requests a feed once, conditionally if the last reply had validators.
    ///
    /// `file` is the path of the list, for hints.
    func fetch(_ source: FeedSource, _ record: FeedRecord, file: String) async -> FetchResult {
        let sent = validators(of: record)
        do {
            var response = try await http.send(request(source, record, sent))
            if response.status == 304, !sent.isEmpty, let url = sent.url, url != response.url {
                // Another document replied, and our validators are not about it.
                response = try await http.send(request(source, record, Validators()))
                return result(response, source, record, sent: Validators(), file: file)
            }
            return result(response, source, record, sent: sent, file: file)
        } catch {
            if case .cancelled = error { return .cancelled }
            return .failed(.transport(error, source))
        }
    }

    /// A feed's own configured address may be private; redirects from there must lead to public addresses (feeds.md
    /// §9).
    private func request(_ source: FeedSource, _ record: FeedRecord, _ validators: Validators) -> OutboundRequest {
        let asked = record.asked(source)
        let isOwn = source.isLocal && asked.sharesSite(with: source.address)
        var request = OutboundRequest(
            feed: asked.text,
            addresses: isOwn ? .any : .publicOnly,
            allowsFile: isOwn && source.address.isFile
        )
        let conditions = [("If-None-Match", validators.etag), ("If-Modified-Since", validators.lastModified)]
        request.echoes = conditions.compactMap { name, value in
            value.map { OutboundHeaders.Field(name: name, bytes: $0) }
        }
        return request
    }

    private func validators(of record: FeedRecord) -> Validators {
        var validators = record.validators
        if !Self.sendsETag(of: record) { validators.etag = nil }
        return validators
    }

    static func sendsETag(of record: FeedRecord) -> Bool {
        record.identicalAnswers < patience || record.validators.lastModified == nil
    }

    private func result(
        _ response: OutboundResponse,
        _ source: FeedSource,
        _ record: FeedRecord,
        sent: Validators,
        file: String
    ) -> FetchResult {
        let received = Validators(
            etag: bytes(response, "ETag"),
            lastModified: bytes(response, "Last-Modified"),
            url: response.url
        )
        let answer = FetchResult.Answer(
            url: response.url,
            movedTo: response.movedPermanentlyTo,
            pause: RequestedPause(response.headers, now: now()),
            links: response.headers.all("Link")
        )
        switch response.status {
        case 200..<300:
            return .document(
                FetchedDocument(
                    body: response.body,
                    contentLocation: response.headers.first("Content-Location"),
                    contentType: response.headers.first("Content-Type"),
                    validators: received,
                    answer: answer
                )
            )
        case 304 where !sent.isEmpty:
            return .unchanged(received, answer)
        default:
            let answering = try? FeedAddress(parsing: response.url, allowsFile: true)
            // A temporary redirect to a missing page is not final, nor is the target of an earlier move.
            let isFinal =
                answering?.comparable == source.address.comparable
                || (record.movedURL == nil && response.movedPermanentlyTo == response.url)
            var failure = FetchFailure.status(
                response.status,
                retryAfter: answer.pause.retryAfter,
                isFinal: isFinal,
                file: file
            )
            failure.host = answering?.host
            return .failed(failure)
        }
    }

    private func bytes(_ response: OutboundResponse, _ name: String) -> [UInt8]? {
        response.headers.field(name).flatMap { $0.bytes.isEmpty ? nil : $0.bytes }
    }
}
