internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Composes the messages that announce entries.
struct MessageComposer: Sendable {
    /// Maximum number of characters of a title.
    static let maximumTitle = 300
    /// Maximum number of characters of a summary, and of the text that the list's template renders.
    static let maximumSummary = 1_000
    /// Maximum number of characters of names and addresses; longer ones are left out or shortened.
    static let maximumName = 200
    static let maximumAddress = 1_000
    /// Maximum number of bytes of the body: the limit of the strictest push services.
    static let maximumBody = 4_096
    /// Number of headlines that a digest names; it counts the rest.
    static let digestHeadlines = 10

    /// Maximum number of other feeds that a message names.
    static let maximumOthers = 10

    private static let nameSeparator = "; "

    let list: FeedList
    /// The language of the entries; `nil` for the list's main one.
    var language: LanguageName?

    func message(
        for announcement: Announcement,
        feedTitle: String,
        idempotencyKey: String
    ) -> OutboxMessage {
        let change = announcement.change
        let values = values(for: announcement, feedTitle: feedTitle)
        let title = values[.title] ?? ""
        let message = OutboxMessage(
            category: list.category.text,
            tags: list.category.text,
            body: Self.encoded(language.map { localized(values, in: $0) } ?? rendered(values)),
            idempotencyKey: idempotencyKey,
            headlines: title,
            entries: 1,
            isDigest: false,
            story: change.name,
            status: change.status,
            urgency: values[.urgency],
            replaces: change.replaces,
            notBefore: change.notBefore,
            expires: change.status == .withdrawn ? nil : announcement.entry.alert?.expires,
            shares: language.map { [$0.text: LanguageShare(entries: 1, headlines: title)] } ?? [:]
        )
        return change.elsewhere.isEmpty ? message : withdrawing(announcement, values, in: message)
    }

    /// Returns the properties that the list's template and recipients' templates can name.
    func values(for announcement: Announcement, feedTitle: String) -> [MessageProperty: String] {
        let entry = announcement.entry.localized(in: languageCode)
        let change = announcement.change
        let ownTitle = Self.title(of: entry, feedTitle: feedTitle)
        let title = TextClip.clip(Self.wording(of: announcement, ownTitle), characters: Self.maximumTitle)
        var values = [MessageProperty.title: title, .category: list.category.text]
        values[.feed] = TextClip.clip(feedTitle, characters: Self.maximumName)
        values[.summary] = entry.summary.flatMap { summary in
            summary == entry.title ? nil : TextClip.clip(summary, characters: Self.maximumSummary)
        }
        values[.author] = entry.author.map { TextClip.clip($0, characters: Self.maximumName) }
        values[.published] = announcement.date.map { ISODateTime.formatSeconds($0) }
        values[.link] = entry.link.flatMap(Self.address)
        values[.image] = entry.image.flatMap(Self.address)
        values[.story] = change.name
        values[.version] = change.version.isEmpty ? nil : change.version
        values[.status] = change.status?.rawValue
        values[.replaces] = change.replaces.isEmpty ? nil : change.replaces.joined(separator: " ")
        let isUrgent = entry.alert?.isUrgent == true && change.status != .withdrawn
        values[.urgency] = isUrgent ? MessageUrgency.critical.rawValue : nil
        return values
    }

    /// Returns the title, which states the kind of message if the entry's own title does not.
    private static func wording(of announcement: Announcement, _ title: String) -> String {
        let change = announcement.change
        if announcement.isMarked { return title }
        switch change.status {
        case .withdrawn: return withdrawal(of: change.headline ?? title, by: announcement)
        case .correction: return "Correction: \(title)"
        case .update, nil: return title
        }
    }

    static func withdrawal(of headline: String, by announcement: Announcement) -> String {
        "\(announcement.entry.alert == nil ? "Withdrawn" : "Cancelled"): \(headline)"
    }

    /// Returns a message that also names another feed with the same story.
    ///
    /// Call it only for a message of which no byte was sent. A message that names the feed already is returned
    /// unchanged. The text of a message in a language other than the main one does not change.
    func naming(_ feedTitle: String, in message: OutboxMessage) -> OutboxMessage {
        guard !message.isDigest, language == nil || !message.speaks(nil),
            var values = Self.properties(of: message)
        else { return message }
        let name = TextClip.clip(feedTitle, characters: Self.maximumName)
        let others = values[.alsoFrom].map { $0.split(separator: Self.nameSeparator).map(String.init) } ?? []
        guard name != values[.feed], !others.contains(name), others.count < Self.maximumOthers else { return message }
        values[.alsoFrom] = (others + [name]).joined(separator: Self.nameSeparator)
        var message = message
        message.body = Self.encoded(language == nil ? rendered(values) : values)
        return message
    }

    static func properties(of message: OutboxMessage) -> [MessageProperty: String]? {
        try? MessageProperties(json: message.body).all
    }

    /// Returns the properties with the text of the main language, which replaces an existing one.
    func rendered(_ values: [MessageProperty: String]) -> [MessageProperty: String] {
        var values = values
        values[.messageParam] = nil
        let text = text(values, in: nil)
        values[.messageParam] = text
        guard let main = list.localization.main else { return values }
        values[main.newsProperty] = text
        values[main.titleProperty] = values[.title]
        return values
    }

    func text(_ values: [MessageProperty: String], in language: LanguageName?) -> String {
        let text = list.template(in: language).render(MessageProperties(values))
        return TextClip.clip(text, characters: Self.maximumSummary)
    }

    /// Combines rows of one category into one message.
    ///
    /// It needs no list, because the list of the category may be gone. There is at least one row; rows are oldest
    /// first, and digests among them are merged. Each language gets the headlines that its recipients would have read.
    /// The text ends with the address of `page`, where the other stories are.
    static func digest(of rows: [OutboxMessage], page: String? = nil, idempotencyKey: String) -> OutboxMessage {
        let category = rows.first?.category ?? ""
        let shares = rows.reduce(into: [:]) { $0.merge($1.allShares, uniquingKeysWith: +) }
        let story = StoryName.of("digest", idempotencyKey)
        var values = [MessageProperty.category: category, .story: story]
        for (language, share) in shares {
            let texts =
                language == LanguageShare.main
                ? digested(share, page, category) : digested(share, page, in: language, category)
            values.merge(texts) { first, _ in first }
        }
        let headlines = rows.flatMap { $0.headlines.split(separator: "\n") }.suffix(digestHeadlines)
        return OutboxMessage(
            category: category,
            tags: rows.first?.tags ?? "",
            body: encoded(values),
            idempotencyKey: idempotencyKey,
            headlines: headlines.joined(separator: "\n"),
            entries: rows.reduce(0) { $0 + $1.entries },
            isDigest: true,
            story: story,
            notBefore: rows.compactMap(\.notBefore).max(),
            shares: rows.allSatisfy(\.shares.isEmpty) ? [:] : shares.mapValues { $0.naming(atMost: digestHeadlines) }
        )
    }

    private static func digested(
        _ share: LanguageShare,
        _ page: String?,
        _ category: String
    ) -> [MessageProperty: String] {
        let newest = share.newest(digestHeadlines)
        let title = Counted.text(share.entries, "more \(category) story", "more \(category) stories")
        let listed = newest.map { TextClip.clip(String($0), characters: 100) }.joined(separator: "; ")
        let rest = share.entries - newest.count
        return [
            .title: title,
            .summary: with(page, rest > 0 ? "\(listed); and \(rest) more" : listed, characters: maximumSummary),
            .messageParam: with(page, "\(title): \(listed)", characters: maximumTitle),
        ]
    }

    /// Returns a text, shortened if necessary, and the address of a page behind it.
    static func with(_ page: String?, _ text: String, characters: Int) -> String {
        guard let page = page.flatMap(address) else { return TextClip.clip(text, characters: characters) }
        return "\(TextClip.clip(text, characters: max(characters / 2, characters - page.count - 1))) \(page)"
    }

    /// Returns the entry's title, else the first sentence of its text, else the name of its file, else the feed's
    /// title.
    private static func title(of entry: Entry, feedTitle: String) -> String {
        if let title = entry.title, !title.isEmpty { return singleLine(title) }
        if let summary = entry.summary, !summary.isEmpty {
            return TextClip.clipWords(FirstSentence.of(singleLine(summary)), characters: maximumTitle)
        }
        if let file = entry.enclosures.first?.url.split(separator: "/").last { return String(file) }
        return feedTitle
    }

    private static func singleLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    /// Returns an address; `nil` for a long one, since a shortened address is useless.
    private static func address(_ text: String) -> String? {
        text.utf8.count <= maximumAddress ? text : nil
    }

    static func encoded(_ values: [MessageProperty: String]) -> [UInt8] {
        MessageBudget.encode(values, within: maximumBody)
    }
}
