/// The scheme `feed`, with which pages and programs mark addresses of feeds: `feed://host/path` and
/// `feed:https://host/path`.
///
/// Source: the Internet-Draft draft-obasanjo-feed-uri-scheme-02, which expired; browsers and feed readers follow it.
package enum FeedScheme {
    /// Returns the web address in a text with this scheme, and any other text unchanged.
    ///
    /// Without another scheme the address is one of `http`.
    package static func webAddress(_ text: String) -> String {
        guard text.prefix(5).lowercased() == "feed:" else { return text }
        let rest = text.dropFirst(5).drop { $0 == " " }
        guard rest.hasPrefix("//") else { return String(rest) }
        // Some programs write `feed://https://host/path`.
        let inner = rest.dropFirst(2)
        let scheme = inner.prefix { $0 != ":" }.lowercased()
        let isComplete = (scheme == "http" || scheme == "https") && inner.dropFirst(scheme.count).hasPrefix("://")
        return isComplete ? String(inner) : "http:\(rest)"
    }
}
