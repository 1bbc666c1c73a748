internal import Feeds
package import OutboundHTTP

extension OutboundRequest {
    private static let acceptedFeeds =
        "application/atom+xml, application/rss+xml, application/feed+json, application/cap+xml, "
        + "application/rdf+xml;q=0.9, application/xml;q=0.8, text/xml;q=0.8, */*;q=0.1"

    /// Creates a polite request for a feed, within the limits for feeds.
    ///
    /// Source: feeds.md §10.
    package init(feed url: String, addresses: AddressPolicy, allowsFile: Bool = false) {
        self.init(
            url: url,
            headers: [(name: "Accept", value: Self.acceptedFeeds)],
            connectTimeout: .seconds(10),
            totalTimeout: .seconds(60),
            maximumBodyBytes: FeedReader.maximumBytes,
            maximumRedirects: 5,
            addresses: addresses,
            redirectAddresses: .publicOnly,
            allowsFile: allowsFile
        )
        trustsHost = true
        keepsGzip = true
    }

    /// Adds what a feed's keys ask for; it is sent to the request's own origin only.
    ///
    /// - Throws: ``FeedAccessError`` if a file that the keys name cannot be used.
    package mutating func add(_ access: FeedAccess) throws(FeedAccessError) {
        for header in try access.allHeaders() {
            headers.removeAll { $0.name.lowercased() == header.name.lowercased() }
            headers.append((name: header.name, value: header.value))
        }
        userAgent = access.userAgent
        keepsCookies = access.keepsCookies
        certificateAuthorities = try access.checkedAuthorityFile()
    }
}
