internal import Formats

/// An address that may be passed to a browser: its scheme is `http` or `https`.
///
/// Links come from feeds, and the program that opens them would also open files, mail and settings.
package struct WebLink: Sendable, Equatable {
    /// Maximum bytes that browsers and servers accept without problems.
    package static let maximumLength = 2_000

    /// The address in the characters of RFC 3986; others are percent-encoded.
    package let text: String

    /// - Returns: `nil` for anything but a complete web address. User names and passwords are refused, because they are
    ///   used to disguise the host.
    package init?(_ address: String) {
        guard let parts = URLParts(address), parts.webScheme != nil, !parts.hasUser,
            !HostAndPort(parts.authority).host.isEmpty
        else { return nil }
        let rest = parts.authority + parts.rest
        guard rest.utf8.allSatisfy({ $0 >= 0x80 || Self.allowed.contains($0) }) else { return nil }
        text = "\(parts.scheme)://\(PercentEncoding.encode(rest, keeping: Self.allowed.contains))"
        guard text.utf8.count <= Self.maximumLength else { return nil }
    }

    /// Source: RFC 3986 §2.
    private static let allowed = Set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~:/?#[]@!$&'()*+,;=%".utf8
    )
}
