/// The origin of a web app, as browsers write it in `Origin`: scheme, host and port.
///
/// Source: RFC 6454 §6.2.
package struct WebOrigin: Sendable, Hashable, CustomStringConvertible {
    package let description: String

    /// Parses an origin such as `https://app.example.org` or `http://localhost:5173`; `nil` for any other text, and for
    /// one that no browser writes: with a path, capital letters, zeros before the port or the port that the scheme
    /// implies.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.allSatisfy({ $0 < 0x80 }), text == text.lowercased(), let parts = URLParts(text),
            let scheme = parts.webScheme, parts.rest.isEmpty,
            Authority(parts.authority)?.description == scheme.withoutPort(parts.authority)
        else { return nil }
        description = String(text)
    }
}
