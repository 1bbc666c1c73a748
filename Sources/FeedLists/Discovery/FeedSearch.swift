internal import Feeds
package import OutboundHTTP

/// Finds the feeds of an address: the address itself, or the feeds that its page names.
package struct FeedSearch: Sendable {
    /// A document that was examined.
    package struct Candidate: Sendable, Equatable, Encodable {
        package enum Source: String, Sendable, Encodable {
            /// The address itself is a feed.
            case address
            case page
            case guess
        }

        package let address: String
        package let source: Source
        package var title: String?
        package var format: String?
        package var entries: Int?
        /// The reason why it is not a feed, or cannot be read.
        package var problem: String?

        private enum CodingKeys: String, CodingKey {
            case source, title, format, entries, problem
            case address = "url"
        }

        /// True for a feed of readers' comments.
        package var isOfComments: Bool {
            let title = title?.lowercased() ?? ""
            return address.lowercased().contains("/comments/") || title.hasPrefix("comments on")
                || title.hasPrefix("comments for")
        }
    }

    /// The largest number of feeds of one page that are examined, one request after another.
    private static let maximumCandidates = 10
    /// The most common paths of feeds on sites that do not name theirs.
    private static let guesses = ["/feed", "/rss", "/atom.xml", "/index.xml", "/feed.json"]

    private let http: OutboundClient
    private let addresses: AddressPolicy

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - http: The client for the requests.
    ///   - addresses: The allowed addresses. Only tests change the default: pages of third parties name the addresses.
    package init(http: OutboundClient, addresses: AddressPolicy = .publicOnly) {
        self.http = http
        self.addresses = addresses
    }

    /// Finds the feeds of an address.
    ///
    /// - Parameters:
    ///   - address: The address of a feed or a page.
    ///   - guesses: True to try the usual paths if a page names no feed that can be read.
    /// - Returns: The documents examined: feeds, then feeds of comments, then documents that are not feeds.
    /// - Throws: ``FeedSearchError`` when the address itself cannot be read, `CancellationError`.
    package func candidates(of address: String, guesses: Bool) async throws -> [Candidate] {
        let body: OutboundResponse
        do {
            body = try await document(address)
        } catch let error as FeedSearchError {
            throw FeedSearchError("cannot fetch '\(address)': \(error)")
        }
        var named: [String] = []
        do throws(FeedError) {
            return [try candidate(address, .address, body)]
        } catch .html(let discovered) {
            named = discovered
        } catch {
            throw FeedSearchError("'\(address)': \(error)")
        }
        var found: [Candidate] = []
        for url in named.prefix(Self.maximumCandidates) { found.append(try await look(at: url, .page)) }
        if guesses, !found.contains(where: { $0.problem == nil }) {
            for path in Self.guesses {
                guard let url = Self.sibling(path, of: body.url), !named.contains(url) else { continue }
                let guess = try await look(at: url, .guess)
                if guess.problem == nil { found.append(guess) }
            }
        }
        let (feeds, others) = (found.filter { $0.problem == nil }, found.filter { $0.problem != nil })
        return feeds.filter { !$0.isOfComments } + feeds.filter(\.isOfComments) + others
    }

    private func look(at address: String, _ source: Candidate.Source) async throws -> Candidate {
        do {
            return try candidate(address, source, try await document(address))
        } catch let error where error is FeedSearchError || error is FeedError {
            return Candidate(address: address, source: source, problem: "\(error)")
        }
    }

    private func candidate(
        _ address: String,
        _ source: Candidate.Source,
        _ response: OutboundResponse
    ) throws(FeedError) -> Candidate {
        let feed = try FeedReader.read(
            response.body,
            url: response.url,
            contentType: response.headers.first("Content-Type")
        )
        var candidate = Candidate(address: address, source: source)
        candidate.title = feed.title
        candidate.format = feed.format.description
        candidate.entries = feed.entries.count
        return candidate
    }

    private func document(_ address: String) async throws -> OutboundResponse {
        var request = OutboundRequest(feed: address, addresses: addresses)
        request.redirectAddresses = addresses
        let response: OutboundResponse
        do {
            response = try await http.send(request)
        } catch {
            if case .cancelled = error { throw CancellationError() }
            if case .untrusted(_, _, let cause) = error { throw FeedSearchError("\(error); \(cause.feedCure)") }
            throw FeedSearchError("\(error)")
        }
        guard (200..<300).contains(response.status) else { throw FeedSearchError("it answered \(response.status)") }
        return response
    }

    /// The address of a path on the same server.
    private static func sibling(_ path: String, of address: String) -> String? {
        guard let start = address.firstRange(of: "://")?.upperBound else { return nil }
        return address[..<(address[start...].firstIndex { "/?#".contains($0) } ?? address.endIndex)] + path
    }
}

/// The reason why no feed was found at an address.
package struct FeedSearchError: Error, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
