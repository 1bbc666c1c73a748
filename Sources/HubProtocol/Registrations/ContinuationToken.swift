import Formats

/// The beginning of a list's next page, as `X-MS-ContinuationToken` and the query's `continuationtoken` carry it.
///
/// Two SDKs paste the header into the query as it is and a third escapes it once more, so a token consists of
/// characters that escaping does not change (protocol §3.4).
package struct ContinuationToken: Sendable, Equatable {
    /// Longest token, in characters; it comes from outside.
    package static let maximumLength = 1_024

    /// The list's own position.
    ///
    /// Clients must not interpret it, but one may have invented it.
    package let position: String

    package init(position: String) { self.position = position }

    /// `[A-Za-z0-9_-]+`.
    package var text: String {
        let bytes = Array(position.utf8)
        return Base64URL.encode(bytes + Self.checksum(bytes))
    }

    /// Reads a token of a reply, percent-encoded once, twice or not at all.
    ///
    /// - Throws: ``ProtocolError`` 400 for any other text: a truncated or changed token would begin at another place.
    package init(parsing text: String) throws(ProtocolError) {
        guard text.utf8.count <= Self.maximumLength, let bytes = Base64URL.decode(Self.decoded(text)), bytes.count > 2,
            Self.checksum(bytes.dropLast(2)) == Array(bytes.suffix(2)),
            let position = String(validating: bytes.dropLast(2), as: UTF8.self)
        else {
            throw .badRequest(
                "the continuation token '\(text.excerpt)' was not issued by this hub: take it from the header "
                    + "\(HeaderName.continuationToken) of the previous page, or omit it to start again"
            )
        }
        self.position = position
    }

    private static func decoded(_ text: String) -> String {
        var text = text
        for _ in 0..<2 where text.utf8.contains(UInt8(ascii: "%")) { text = PercentEncoding.decode(text) ?? text }
        return text
    }

    /// Two bytes of FNV-1a, against accidents.
    ///
    /// Anybody can compute them, so the position must be checked like any other input.
    private static func checksum(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        let hash = bytes.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        let folded = hash >> 16 ^ hash
        return [UInt8(truncatingIfNeeded: folded >> 8), UInt8(truncatingIfNeeded: folded)]
    }
}
