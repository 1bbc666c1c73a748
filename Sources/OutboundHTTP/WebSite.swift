/// The server of a URL, read by the parser that requests use.
///
/// Security depends on whether two URLs name the same server, so the decision must not use another parser.
package struct WebSite: Sendable, Hashable {
    /// In lower case and ASCII, with addresses in dotted form; IPv6 in brackets.
    package let host: String

    /// The host without the brackets of IPv6 and without a dot at the end of a name.
    package let bareHost: String

    /// The host, with the port if it is not the scheme's default.
    package let authority: String

    /// - Throws: ``OutboundError/badURL(reason:)`` for a URL that no request can use.
    package init(of url: String) throws(OutboundError) {
        let address = try WebAddress(parsing: url)
        (host, bareHost) = (address.host, address.bareHost)
        authority = address.displayHost
    }

    /// True if credentials for one URL may be sent to another: the origin is the same, or only `http` became `https` at
    /// the default ports.
    package static func sharesCredentials(of url: String, with other: String) -> Bool {
        guard let one = try? WebAddress(parsing: url), let other = try? WebAddress(parsing: other) else { return false }
        return one.sharesCredentials(with: other)
    }
}
