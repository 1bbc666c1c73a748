internal import Feeds
package import FoundationEssentials
package import OutboundHTTP

/// Asks for feeds as a polite reader does.
///
/// Source: feeds.md §10.
package struct FeedFetcher: Sendable {
    private static let accept =
        "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml;q=0.9, "
        + "application/xml;q=0.8, text/xml;q=0.8, */*;q=0.1"
    private static let connectTimeout: Duration = .seconds(10)
    private static let totalTimeout: Duration = .seconds(60)
    private static let maximumRedirects = 5
    /// Answers with the same body after which an `ETag` is left out: some servers handle their own badly.
    private static let patience = 3

    let http: OutboundClient
    let now: @Sendable () -> Date

    package init(http: OutboundClient, now: @escaping @Sendable () -> Date = { Date() }) {
        self.http = http
        self.now = now
    }

    /// Asks once, conditionally where the last answer gave validators.
    ///
    /// `file` is the list's, to be named in advice.
    func fetch(_ source: FeedSource, _ record: FeedRecord, file: String) async -> FetchResult {
        let sent = validators(of: record)
        do {
            let response = try await http.send(request(source, record, sent))
            return result(response, sent: sent, file: file)
        } catch {
            if case .cancelled = error { return .cancelled }
            return .failed(.transport(error, source))
        }
    }

    /// A feed's own configured address may be private; where it points from there must be public (design.md §7).
    private func request(_ source: FeedSource, _ record: FeedRecord, _ validators: Validators) -> OutboundRequest {
        var headers = [(name: "Accept", value: Self.accept)]
        if let etag = validators.etag {
            headers.append((name: "If-None-Match", value: String(decoding: etag, as: UTF8.self)))
        }
        if let date = validators.lastModified {
            headers.append((name: "If-Modified-Since", value: String(decoding: date, as: UTF8.self)))
        }
        let isOwn = source.isLocal && record.movedURL == nil
        return OutboundRequest(
            url: record.movedURL ?? source.address.text,
            headers: headers,
            connectTimeout: Self.connectTimeout,
            totalTimeout: Self.totalTimeout,
            maximumBodyBytes: FeedReader.maximumBytes,
            maximumRedirects: Self.maximumRedirects,
            addresses: isOwn ? .any : .publicOnly,
            redirectAddresses: .publicOnly,
            allowsFile: isOwn && source.address.isFile
        )
    }

    private func validators(of record: FeedRecord) -> Validators {
        var validators = record.validators
        if record.identicalAnswers >= Self.patience, validators.lastModified != nil { validators.etag = nil }
        return validators
    }

    private func result(_ response: OutboundResponse, sent: Validators, file: String) -> FetchResult {
        let received = Validators(
            etag: response.headers.first("ETag").map { Array($0.utf8) },
            lastModified: response.headers.first("Last-Modified").map { Array($0.utf8) }
        )
        let freshness = CacheControl.maxAge(response.headers.first("Cache-Control"))
        switch response.status {
        case 200..<300:
            return .document(
                FetchedDocument(
                    body: response.body,
                    url: response.url,
                    contentType: response.headers.first("Content-Type"),
                    validators: received,
                    freshness: freshness,
                    movedTo: response.movedPermanentlyTo
                )
            )
        case 304 where !sent.isEmpty:
            return .unchanged(received, freshness: freshness, movedTo: response.movedPermanentlyTo)
        default:
            let retryAfter = response.headers.retryAfter(now: Int64(now().timeIntervalSince1970))
            return .failed(.status(response.status, retryAfter: retryAfter, file: file))
        }
    }
}

enum CacheControl {
    /// The `max-age` directive; `nil` when absent or not a number.
    ///
    /// Source: RFC 9111 §5.2.2.1.
    static func maxAge(_ field: String?) -> Duration? {
        for directive in (field ?? "").lowercased().split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { $0.trimmingPrefix(while: { $0 == " " }) }
            if parts.count == 2, parts[0] == "max-age", let seconds = Int64(parts[1].prefix { $0.isNumber }) {
                return .seconds(min(seconds, 31_536_000))
            }
        }
        return nil
    }
}
