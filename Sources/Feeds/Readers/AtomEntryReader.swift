internal import FoundationEssentials
internal import Markup

/// The elements that are read from an Atom entry.
enum AtomTag: Int {
    case title, content, summary, id, link, published, issued, created, updated, modified, category, author, source
    case dcDate, dcSubject, dcCreator, mediaCategory

    /// The names without the prefix of the document's Atom elements.
    private static let names = [
        "title", "content", "summary", "id", "link", "published", "issued", "created", "updated", "modified",
        "category", "author", "source",
    ]
    private static let others = ["dc:date", "dc:subject", "dc:creator", "media:category"]
    private static let bare = names + others
    private static let prefixed = names.map { "atom:\($0)" } + others

    /// The names in the order of the cases.
    static func names(isPrefixed: Bool) -> [String] { isPrefixed ? prefixed : bare }
}

/// Reads the entries of Atom.
struct AtomEntryReader {
    private static let prefixed = XMLNameTable(FeedNames.vocabulary, names: AtomTag.names(isPrefixed: true))
    private static let bare = XMLNameTable(FeedNames.vocabulary, names: AtomTag.names(isPrefixed: false))

    private let context: FeedContext
    private let prefix: String
    private let isOld: Bool
    private let names: XMLNameTable

    init(_ context: FeedContext, prefix: String, isOld: Bool) {
        self.context = context
        self.prefix = prefix
        self.isOld = isOld
        names = prefix.isEmpty ? Self.bare : Self.prefixed
    }

    func entry(_ element: XMLElement, feedAuthor: String?) -> Entry {
        let fields = FeedFields<AtomTag>(of: element, names)
        let links = fields.all(.link).map(\.element)
        let media = MediaRSS(element, context: context)
        let content = fields[.content]
        let contentText = AtomText.content(content, isOld: isOld)
        let summaryText = text(fields[.summary])
        var entry = Entry()
        entry.id = FeedText.trimmed(fields[.id]?.text)
        entry.titleTexts = [text(fields[.title]), context.titleText(media.title)].compactMap(\.self)
        entry.link =
            AtomReader.alternate(of: links, context: context)
            ?? content.flatMap { context.link($0.attribute("src"), at: $0) }
            ?? AtomReader.link(of: links, relation: "self", context: context)
            ?? AtomReader.link(of: links, relation: "related", context: context)
            ?? FeedContext.link(entry.id, base: nil)
        if links.count > 1 { entry.translations = AtomReader.translations(among: links, context: context) }
        entry.summaryTexts = [summaryText, contentText, context.html(media.description)].compactMap(\.self)
        entry.published = fields.date(.published, .issued, .created, .dcDate)
        entry.updated = fields.date(.updated, .modified)
        entry.categories = categories(fields)
        entry.enclosures = FeedContext.distinct(
            links.filter { AtomReader.relations(of: $0).contains("enclosure") }.compactMap(enclosure)
        )
        entry.byline = author(fields) ?? fields[.source].flatMap(author)
        entry.inheritedAuthor = feedAuthor
        entry.ownImage = media.image ?? entry.enclosures.first(where: EntryImage.isImage)?.url
        entry.pictureTexts = [contentText, summaryText].compactMap(\.self)
        entry.pictureBase = context.baseText(of: content ?? element)
        entry.point = GeoRSS.point(of: element, context: context)
        entry.alert = AlertReader.alert(in: element, content: content, context: context)
        if context.hasDrafts { entry.isDraft = Self.isDraft(element) }
        return entry
    }

    /// The author of an entry, a feed or a source.
    func author(of element: XMLElement) -> Person? { author(FeedFields(of: element, names)) }

    private func author(_ fields: FeedFields<AtomTag>) -> Person? {
        let named = fields.all(.author).lazy.compactMap { _, author in
            let name = author.first(prefix + "name").flatMap { Person($0.text) }
            return Person(
                name: name?.name,
                mail: FeedText.trimmed(author.first(prefix + "email")?.text) ?? name?.mail
            )
        }
        return named.first ?? fields.all(.dcCreator).lazy.compactMap { Person($0.element.text) }.first
    }

    /// True if the publisher marks an entry as a draft (RFC 5023 §13.1.1).
    private static func isDraft(_ element: XMLElement) -> Bool {
        let draft = element.first("app:control")?.first("app:draft")
        return FeedText.trimmed(draft?.text)?.lowercased() == "yes"
    }

    private func text(_ element: XMLElement?) -> FeedText? { AtomText.text(element, isOld: isOld) }

    private func categories(_ fields: FeedFields<AtomTag>) -> [String] {
        let own = fields.all(.category).map { _, category in
            FeedText.name(category.attribute("term")) ?? FeedText.name(category.attribute("label"))
                ?? FeedText.name(category.text)
        }
        return FeedText.distinct(own + fields.all(.dcSubject, .mediaCategory).map { FeedText.name($0.element.text) })
    }

    private func enclosure(_ link: XMLElement) -> Enclosure? {
        FeedContext.enclosure(
            context.link(link.attribute("href"), at: link),
            type: link.attribute("type"),
            length: link.attribute("length")
        )
    }
}
