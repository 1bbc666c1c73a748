internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Makes the messages that announce entries.
struct MessageComposer: Sendable {
    /// Characters of a title (design.md §7).
    static let maximumTitle = 300
    /// Characters of a summary, and of the text that the list's template makes.
    static let maximumSummary = 1_000
    /// Characters of names and addresses; longer ones are left out or clipped.
    static let maximumName = 200
    static let maximumAddress = 1_000
    /// Bytes of the whole body: what the strictest push services take.
    static let maximumBody = 4_096
    /// Headlines that a digest names; the rest it counts.
    static let digestHeadlines = 10

    /// Other feeds that a message names.
    static let maximumOthers = 10

    private static let languagePrefix = "News_"
    private static let nameSeparator = "; "
    /// Of an alert to be acted upon: on a desktop it stays until it is dismissed.
    private static let urgent = "critical"

    let list: FeedList

    init(list: FeedList) { self.list = list }

    /// The message for one entry.
    func message(
        for announcement: Announcement,
        feedTitle: String,
        idempotencyKey: String
    ) -> OutboxMessage {
        let entry = announcement.entry
        let change = announcement.change
        let ownTitle = Self.title(of: entry, feedTitle: feedTitle)
        let title = TextClip.clip(Self.wording(of: announcement, ownTitle), characters: Self.maximumTitle)
        var values = ["title": title, "category": list.category.text]
        values["feed"] = TextClip.clip(feedTitle, characters: Self.maximumName)
        values["summary"] = entry.summary.flatMap { summary in
            summary == entry.title ? nil : TextClip.clip(summary, characters: Self.maximumSummary)
        }
        values["author"] = entry.author.map { TextClip.clip($0, characters: Self.maximumName) }
        values["published"] = announcement.date.map { $0.formatted(.iso8601) }
        values["link"] = entry.link.flatMap(Self.address)
        values["image"] = entry.image.flatMap(Self.address)
        values["story"] = change.name
        values["status"] = change.status?.rawValue
        values["replaces"] = change.replaces.isEmpty ? nil : change.replaces.joined(separator: " ")
        let isOver = change.status == .withdrawn
        if entry.alert?.isUrgent == true, !isOver { values["urgency"] = Self.urgent }
        return OutboxMessage(
            category: list.category.text,
            tags: list.category.text,
            body: rendered(values),
            idempotencyKey: idempotencyKey,
            headlines: title,
            entries: 1,
            isDigest: false,
            status: change.status,
            replaces: change.replaces,
            notBefore: change.notBefore,
            expires: isOver ? nil : entry.alert?.expires
        )
    }

    /// The title, saying what the message is where the entry's own does not.
    private static func wording(of announcement: Announcement, _ title: String) -> String {
        let change = announcement.change
        if announcement.isMarked { return title }
        switch change.status {
        case .withdrawn where announcement.entry.alert != nil: return "Cancelled: \(change.headline ?? title)"
        case .withdrawn: return "Withdrawn: \(change.headline ?? title)"
        case .correction: return "Correction: \(title)"
        case .update, nil: return title
        }
    }

    /// The message once more, naming another feed that tells the same story; itself where it names it already.
    ///
    /// Only for a message of which no byte was sent.
    func naming(_ feedTitle: String, in message: OutboxMessage) -> OutboxMessage {
        guard !message.isDigest, let properties = try? MessageProperties(json: message.body) else { return message }
        let isOurs: (String) -> Bool = { $0 == "messageParam" || $0.hasPrefix(Self.languagePrefix) }
        var values = Dictionary(
            properties.names.filter { !isOurs($0) }.compactMap { name in properties[name].map { (name, $0) } }
        ) { first, _ in first }
        let name = TextClip.clip(feedTitle, characters: Self.maximumName)
        let others = values["alsoFrom"].map { $0.split(separator: Self.nameSeparator).map(String.init) } ?? []
        guard name != values["feed"], !others.contains(name), others.count < Self.maximumOthers else { return message }
        values["alsoFrom"] = (others + [name]).joined(separator: Self.nameSeparator)
        var message = message
        message.body = rendered(values)
        return message
    }

    private func rendered(_ values: [String: String]) -> [UInt8] {
        var values = values
        let text = list.template.render(MessageProperties(values))
        values["messageParam"] = TextClip.clip(text, characters: Self.maximumSummary)
        return Self.encoded(values, languages: list.language.map { [$0] } ?? [])
    }

    /// One message in the place of many.
    ///
    /// Needs no list: the rows' category may have been dropped since. There is at least one row, all are of one
    /// category, oldest first; digests among them are taken in.
    static func digest(of rows: [OutboxMessage], idempotencyKey: String) -> OutboxMessage {
        let category = rows.first?.category ?? ""
        let count = rows.reduce(0) { $0 + $1.entries }
        let headlines = rows.flatMap { $0.headlines.split(separator: "\n") }.suffix(digestHeadlines).map(String.init)
        let title = "\(count) more \(category) \(count == 1 ? "story" : "stories")"
        let listed = headlines.map { TextClip.clip($0, characters: 100) }.joined(separator: "; ")
        let rest = count - headlines.count
        let summary = TextClip.clip(rest > 0 ? "\(listed); and \(rest) more" : listed, characters: maximumSummary)
        let values = [
            "title": title, "category": category, "summary": summary,
            "messageParam": TextClip.clip("\(title): \(listed)", characters: maximumTitle),
            "story": StoryName.of("digest", idempotencyKey),
        ]
        return OutboxMessage(
            category: category,
            tags: rows.first?.tags ?? "",
            body: encoded(values, languages: languages(of: rows)),
            idempotencyKey: idempotencyKey,
            headlines: headlines.joined(separator: "\n"),
            entries: count,
            isDigest: true,
            notBefore: rows.compactMap(\.notBefore).max()
        )
    }

    /// The entry's title, else the first sentence of its text, else the name of its file, else the feed's title.
    private static func title(of entry: Entry, feedTitle: String) -> String {
        if let title = entry.title, !title.isEmpty { return singleLine(title) }
        if let summary = entry.summary, !summary.isEmpty {
            let text = singleLine(summary)
            let end = text.firstRange(of: ". ")?.lowerBound
            return end.map { String(text[...$0]) } ?? text
        }
        if let file = entry.enclosures.first?.url.split(separator: "/").last { return String(file) }
        return feedTitle
    }

    private static func singleLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    /// The languages that the rows speak: recipients whose template names one must see the digest as well.
    private static func languages(of rows: [OutboxMessage]) -> [String] {
        guard let body = rows.last?.body, let properties = try? MessageProperties(json: body) else { return [] }
        return properties.names.filter { $0.hasPrefix(languagePrefix) }.map {
            String($0.dropFirst(languagePrefix.count))
        }
    }

    /// A clipped address leads nowhere, so a long one is left out.
    private static func address(_ text: String) -> String? {
        text.utf8.count <= maximumAddress ? text : nil
    }

    /// Encodes within ``maximumBody``, giving up first what a reader misses least.
    ///
    /// Never `story`, `status`, `replaces` and `urgency`: without them something wrong would stay on people's screens.
    private static func encoded(_ values: [String: String], languages: [String]) -> [UInt8] {
        var values = values
        func attempt() -> [UInt8] {
            var all = values
            for language in languages { all["\(languagePrefix)\(language)"] = values["messageParam"] }
            return MessageProperties(all).encoded()
        }
        var body = attempt()
        for name in ["alsoFrom", "summary", "image", "author", "messageParam", "feed", "link", "title"]
        where body.count > maximumBody {
            guard let value = values[name] else { continue }
            // An escaped character takes up to six bytes, and a localized text stands twice: cut until it fits.
            var room = value.utf8.count
            let isClippable = !["link", "image"].contains(name)
            while body.count > maximumBody, room > 0 {
                room = isClippable ? max(0, room - max(4, (body.count - maximumBody) / 6)) : 0
                let clipped = TextClip.clip(value, characters: .max, bytes: room)
                values[name] = clipped.isEmpty ? nil : clipped
                body = attempt()
            }
        }
        return body
    }
}
