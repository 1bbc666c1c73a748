internal import FeedLists
internal import Feeds
internal import HubProtocol

/// Texts in languages other than the main one, each under the property names of its language (protocol §10).
extension MessageComposer {
    /// Returns a message that also has its story in this composer's language.
    ///
    /// Call it only for a message of which no byte was sent. If the main language is added, it determines the
    /// properties for recipients without a language, such as title and page.
    func adding(_ announcement: Announcement, feedTitle: String, to message: OutboxMessage) -> OutboxMessage {
        guard let properties = Self.properties(of: message) else { return message }
        var values = values(for: announcement, feedTitle: feedTitle)
        values[.urgency] = message.urgency ?? values[.urgency]
        values[.version] = properties[.version]
        let share = LanguageShare(entries: 1, headlines: values[.title] ?? "")
        var message = message
        message.urgency = values[.urgency]
        // The message is valid as long as either text is.
        message.expires = announcement.entry.alert?.expires.flatMap { end in message.expires.map { max($0, end) } }
        message.shares = message.allShares
        if let language {
            message.shares[language.text] = share
            var added = localized(values, in: language).filter { $0.key.isLocalized }
            added[.urgency] = values[.urgency]
            message.body = Self.encoded(Self.with(page: values[.link], of: language, properties.merging(added) { $1 }))
        } else {
            let spoken = message.shares.keys.compactMap { try? LanguageName($0) }
            message.shares[LanguageShare.main] = share
            if let main = list.localization.main { message.shares[main.text] = share }
            message.headlines = share.headlines
            let kept = properties.filter { $0.key.isLocalized }
            // A language whose page differs from the message's names its own page.
            let all = spoken.reduce(rendered(values).merging(kept) { first, _ in first }) { all, language in
                all[language.linkProperty] == nil ? Self.with(page: properties[.link], of: language, all) : all
            }
            message.body = Self.encoded(all)
        }
        return message
    }

    /// Returns a message without this composer's language.
    ///
    /// Call it only for a message of which no byte was sent, and that has other languages, whose recipients still wait.
    func leaving(_ message: OutboxMessage) -> OutboxMessage {
        guard var properties = Self.properties(of: message) else { return message }
        var message = message
        message.shares = message.allShares
        for name in [language ?? list.localization.main].compactMap(\.self) {
            for property in [name.newsProperty, name.titleProperty, name.linkProperty] { properties[property] = nil }
            message.shares[name.text] = nil
        }
        if language == nil {
            for property in [MessageProperty.messageParam, .title, .summary, .alsoFrom] { properties[property] = nil }
            message.shares[LanguageShare.main] = nil
        }
        if let first = message.shares.min(by: { $0.key < $1.key }) { message.headlines = first.value.headlines }
        message.body = Self.encoded(properties)
        return message
    }

    /// Makes a withdrawal for all languages, with a text for each language in which the story was shown.
    func withdrawing(
        _ announcement: Announcement,
        _ values: [MessageProperty: String],
        in message: OutboxMessage
    ) -> OutboxMessage {
        guard var properties = Self.properties(of: message) else { return message }
        var message = message
        message.shares = message.allShares
        for (name, headline) in announcement.change.elsewhere.sorted(by: { $0.key < $1.key }) {
            guard let language = try? LanguageName(name) else { continue }
            var values = values
            if !headline.isEmpty {
                let title = Self.withdrawal(of: headline, by: announcement)
                values[.title] = TextClip.clip(title, characters: Self.maximumTitle)
            }
            values[.summary] = nil
            properties.merge(localized(values, in: language).filter { $0.key.isLocalized }) { $1 }
            message.shares[name] = LanguageShare(entries: 1, headlines: values[.title] ?? "")
        }
        message.body = Self.encoded(properties)
        return announcement.change.isForOwnLanguage ? message : leaving(message)
    }

    /// Returns the properties of a message without a text in the main language; recipients without a language get no
    /// text.
    func localized(_ values: [MessageProperty: String], in language: LanguageName) -> [MessageProperty: String] {
        var localized = values
        localized[.title] = nil
        localized[.summary] = nil
        localized[language.newsProperty] = text(values, in: language)
        localized[language.titleProperty] = values[.title]
        return localized
    }

    /// Returns a digest's text in a language whose words are unknown: a number and titles.
    static func digested(
        _ share: LanguageShare,
        _ page: String?,
        in language: String,
        _ category: String
    ) -> [MessageProperty: String] {
        let title = "\(category) (\(share.entries))"
        let listed = share.newest(digestHeadlines).map { TextClip.clip(String($0), characters: 100) }
        return [
            MessageProperty(.title, of: language): title,
            MessageProperty(.news, of: language): with(
                page,
                "\(title): \(listed.joined(separator: "; "))",
                characters: maximumTitle
            ),
        ]
    }

    private static func with(
        page: String?,
        of language: LanguageName,
        _ all: [MessageProperty: String]
    ) -> [MessageProperty: String] {
        guard page != all[.link] else { return all }
        return all.merging([language.linkProperty: page].compactMapValues(\.self)) { $1 }
    }
}
