internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import OutboundHTTP

/// Requests feeds politely.
///
/// Source: feeds.md §10.
struct FeedFetcher: Sendable {
    /// Number of replies with the same body after which the `ETag` is not sent: some servers handle their own badly.
    private static let patience = 3
    /// Time after a body after which the next one is requested unconditionally: some servers and caches answer 304 for
    /// ever.
    static let validatorAge: Duration = .seconds(7 * 86_400)

    let http: OutboundClient
    var now: @Sendable () -> Date = { Date() }

    /// Requests a feed once, conditionally if the last reply had validators.
    ///
    /// `file` is the path of the list, for hints.
    func fetch(_ source: FeedSource, _ record: FeedRecord, file: String) async -> FetchResult {
        var sent = validators(of: record)
        do {
            var response = try await http.send(request(source, record, sent))
            if response.status == 304, !sent.isEmpty, let url = sent.url, url != response.url {
                // Another document replied, and our validators are not about it.
                sent = FeedValidators()
                response = try await http.send(request(source, record, sent))
            }
            return result(response, source, record, sent: sent, file: file)
        } catch let error as FeedAccessError {
            return .failed(.access(error, file: file))
        } catch let error as OutboundError {
            if case .cancelled = error { return .cancelled }
            return .failed(.transport(error, source, file: file))
        } catch {
            return .failed(FetchFailure(kind: "unreachable", what: "cannot be fetched: \(error)"))
        }
    }

    /// A feed's own configured host may be private, on any port; redirects from there to another host must lead to a
    /// public address (feeds.md §9).
    private func request(
        _ source: FeedSource,
        _ record: FeedRecord,
        _ validators: FeedValidators
    ) throws(FeedAccessError) -> OutboundRequest {
        let asked = record.asked(source)
        let isOwn = source.isLocal && asked.isFile == source.address.isFile && asked.host == source.address.host
        var request = OutboundRequest(
            feed: asked.text,
            addresses: isOwn ? .any : .publicOnly,
            allowsFile: isOwn && source.address.isFile
        )
        // A feed that has moved to another origin is requested as anybody would.
        if source.address.sharesCredentials(with: asked) { try request.add(source.access) }
        let conditions = [("If-None-Match", validators.etag), ("If-Modified-Since", validators.lastModified)]
        request.echoes = conditions.compactMap { name, value in
            value.map { OutboundHeaders.Field(name: name, bytes: $0) }
        }
        return request
    }

    private func validators(of record: FeedRecord) -> FeedValidators {
        let age = record.bodyReceived.map { now().timeIntervalSince($0) } ?? .infinity
        // A negative age shows that the clock was wrong when the body came.
        guard (0..<Self.validatorAge.inSeconds).contains(age) else { return FeedValidators() }
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
        sent: FeedValidators,
        file: String
    ) -> FetchResult {
        let received = FeedValidators(
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
            let body: [UInt8]
            do throws(FeedError) {
                body = try FeedReader.decompressed(response.body)
            } catch {
                return .failed(.reading(error))
            }
            return .document(
                FetchedDocument(
                    body: body,
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
                isOwnHost: source.isLocal && answering?.host == source.address.host,
                file: file
            )
            failure.host = answering.map(source.politenessHost)
            return .failed(failure)
        }
    }

    private func bytes(_ response: OutboundResponse, _ name: String) -> [UInt8]? {
        response.headers.field(name).flatMap { $0.bytes.isEmpty ? nil : $0.bytes }
    }
}
