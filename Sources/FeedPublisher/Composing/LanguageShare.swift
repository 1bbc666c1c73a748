internal import HubProtocol

/// The part of a message for recipients of one language, from which a digest counts and names its entries.
struct LanguageShare: Sendable, Equatable, Codable {
    /// The name for recipients whose template names no language.
    static let main = ""

    /// Number of entries that the message announces; above 1 only for a digest.
    var entries: Int
    /// The entries' titles, one per line.
    var headlines: String

    static func + (left: Self, right: Self) -> Self {
        Self(entries: left.entries + right.entries, headlines: left.headlines + "\n" + right.headlines)
    }

    /// Returns the share with at most `count` of its newest titles, and with the same number of entries.
    func naming(atMost count: Int) -> Self {
        Self(entries: entries, headlines: newest(count).joined(separator: "\n"))
    }

    /// Returns at most `count` of the newest titles.
    func newest(_ count: Int) -> [Substring] { headlines.split(separator: "\n").suffix(count) }
}

extension OutboxMessage {
    /// The shares by language; if none are stored, all recipients read the whole message.
    var allShares: [String: LanguageShare] {
        guard shares.isEmpty else { return shares }
        let whole = LanguageShare(entries: entries, headlines: headlines)
        var all = [LanguageShare.main: whole]
        for name in (try? MessageProperties(json: body))?.names ?? [] {
            if let language = name.language(of: .news) { all[language] = whole }
        }
        return all
    }

    /// Returns the titles for recipients of a language, or the row's own if the language has no share.
    func headlines(in language: String) -> String { shares[language]?.headlines ?? headlines }

    /// True if the message also addresses recipients outside a feed's language.
    func speaks(beside feedLanguage: FeedLanguage) -> Bool { !feedLanguage.names.isSuperset(of: shares.keys) }

    /// True if the message has a text for recipients of a language; `nil` is the list's main one.
    func speaks(_ language: LanguageName?) -> Bool {
        guard let language else { return shares.isEmpty || shares[LanguageShare.main] != nil }
        return shares[language.text] != nil
    }
}
