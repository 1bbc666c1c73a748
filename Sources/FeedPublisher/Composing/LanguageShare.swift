internal import HubProtocol

/// The part of a message for recipients of one language, so that a digest can count it and name it.
struct LanguageShare: Sendable, Equatable, Codable {
    /// The name for recipients whose template names no language.
    static let main = ""

    /// Entries it stands for; more than 1 only for a digest.
    var entries: Int
    /// Their titles, one a line.
    var headlines: String

    static func + (left: Self, right: Self) -> Self {
        Self(entries: left.entries + right.entries, headlines: left.headlines + "\n" + right.headlines)
    }

    /// With the newest titles only; the count stays.
    func naming(atMost count: Int) -> Self {
        Self(entries: entries, headlines: newest(count).joined(separator: "\n"))
    }

    /// The newest titles, at most so many.
    func newest(_ count: Int) -> [Substring] { headlines.split(separator: "\n").suffix(count) }
}

extension OutboxMessage {
    /// The shares by language; where none are kept, all who can read the message read all of it.
    var allShares: [String: LanguageShare] {
        guard shares.isEmpty else { return shares }
        let whole = LanguageShare(entries: entries, headlines: headlines)
        var all = [LanguageShare.main: whole]
        for name in (try? MessageProperties(json: body))?.names ?? [] {
            if let language = name.language(of: .news) { all[language] = whole }
        }
        return all
    }

    /// The titles for recipients of a language; for one that is not named apart, the row's own.
    func headlines(in language: String) -> String { shares[language]?.headlines ?? headlines }

    /// True if it tells its story to others, too, than a voice speaks to.
    func speaks(beside voice: Voice) -> Bool { !voice.names.isSuperset(of: shares.keys) }

    /// True if recipients of a language are told something; `nil` is the list's main one.
    func speaks(_ language: LanguageName?) -> Bool {
        guard let language else { return shares.isEmpty || shares[LanguageShare.main] != nil }
        return shares[language.text] != nil
    }
}
