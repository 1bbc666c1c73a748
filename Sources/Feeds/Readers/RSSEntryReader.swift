internal import FoundationEssentials
internal import Markup

/// The elements that are read from an RSS item.
enum RSSTag: Int {
    case title, dcTitle, itunesTitle, link, atomLink, origLink, guid
    case description, content, body, div, atomContent, atomSummary, dcDescription, itunesSummary, itunesSubtitle
    case pubDate, dcDate, issued, created, atomPublished, atomUpdated, modified, lastBuildDate, atomModified
    case category, dcSubject, mediaCategory, itunesCategory, itunesKeywords, mediaKeywords, enclosure, encEnclosure
    case author, dcCreator, dcAuthor, atomAuthor, itunesAuthor, itunesImage

    /// The names in the order of the cases.
    static let names = [
        "title", "dc:title", "itunes:title", "link", "atom:link", "feedburner:origlink", "guid",
        "description", "content:encoded", "xhtml:body", "xhtml:div", "atom:content", "atom:summary", "dc:description",
        "itunes:summary", "itunes:subtitle",
        "pubdate", "dc:date", "dcterms:issued", "dcterms:created", "atom:published",
        "atom:updated", "dcterms:modified", "lastbuilddate", "atom:modified",
        "category", "dc:subject", "media:category", "itunes:category", "itunes:keywords",
        "media:keywords", "enclosure", "enc:enclosure",
        "author", "dc:creator", "dc:author", "atom:author", "itunes:author", "itunes:image",
    ]
}

/// Reads the items of RSS.
struct RSSEntryReader {
    private static let names = XMLNameTable(FeedNames.vocabulary, names: RSSTag.names)

    let context: FeedContext

    func entry(_ item: XMLElement) -> Entry {
        let fields = FeedFields<RSSTag>(of: item, Self.names)
        let media = MediaRSS(item, context: context)
        let content = fields[.content] ?? fields[.body] ?? fields[.div]
        let descriptionText = context.html(fields[.description])
        let contentText = context.html(content) ?? AtomText.content(fields[.atomContent], isOld: false)
        var entry = Entry()
        entry.id = FeedText.trimmed(fields[.guid]?.text) ?? FeedText.trimmed(item.attribute("rdf:about"))
        entry.titleTexts = texts(context.titleText, fields[.title], fields[.dcTitle], fields[.itunesTitle], media.title)
        entry.link = link(fields) ?? permalink(fields[.guid])
        entry.summaryTexts =
            [descriptionText, AtomText.text(fields[.atomSummary], isOld: false), contentText].compactMap(\.self)
            + texts(
                context.html,
                fields[.dcDescription],
                fields[.itunesSummary],
                fields[.itunesSubtitle],
                media.description
            )
        entry.published = fields.date(.pubDate, .dcDate, .issued, .created, .atomPublished)
        entry.updated = fields.date(.atomUpdated, .modified, .lastBuildDate, .atomModified)
        entry.categories = categories(fields)
        entry.enclosures = enclosures(fields)
        entry.byline = author(fields)
        entry.ownImage =
            media.image ?? entry.enclosures.first(where: EntryImage.isImage)?.url
            ?? fields[.itunesImage].flatMap { context.link($0.attribute("href") ?? $0.text, at: $0) }
        entry.pictureTexts = [contentText, descriptionText].compactMap(\.self)
        entry.pictureBase = context.baseText(of: content ?? fields[.atomContent] ?? fields[.description] ?? item)
        entry.point = GeoRSS.point(of: item, context: context)
        entry.alert = AlertReader.alert(in: item, content: content, context: context)
        return entry
    }

    private func texts(_ read: (XMLElement?) -> FeedText?, _ elements: XMLElement?...) -> [FeedText] {
        elements.compactMap { $0 == nil ? nil : read($0) }
    }

    private func link(_ fields: FeedFields<RSSTag>) -> String? {
        RSSReader.link(
            of: fields.all(.link).map(\.element),
            fields.all(.atomLink).map(\.element),
            fields[.origLink],
            context: context
        )
    }

    /// The permalink in a guid, if it is an absolute URL: many guids without `isPermaLink` are not URLs.
    private func permalink(_ guid: XMLElement?) -> String? {
        guard let guid, guid.attribute("ispermalink")?.lowercased() != "false" else { return nil }
        return FeedContext.link(guid.text, base: nil)
    }

    private func categories(_ fields: FeedFields<RSSTag>) -> [String] {
        let elements = fields.all(
            .category,
            .dcSubject,
            .mediaCategory,
            .itunesCategory,
            .itunesKeywords,
            .mediaKeywords
        )
        return FeedText.distinct(
            elements.flatMap { tag, element -> [String?] in
                switch tag {
                case .itunesCategory: [FeedText.name(element.attribute("text"))]
                case .itunesKeywords, .mediaKeywords:
                    element.text.split(separator: ",").map { FeedText.name(String($0)) }
                default: [FeedText.name(element.bytes, .references)]
                }
            }
        )
    }

    private func enclosures(_ fields: FeedFields<RSSTag>) -> [Enclosure] {
        let elements = fields.all(.enclosure, .encEnclosure)
        guard !elements.isEmpty else { return [] }
        return FeedContext.distinct(
            elements.compactMap { _, element in
                let address = element.attribute("url") ?? element.attribute("rdf:resource") ?? element.attribute("href")
                return FeedContext.enclosure(
                    context.link(address, at: element),
                    type: element.attribute("type") ?? element.attribute("enc:type"),
                    length: element.attribute("length") ?? element.attribute("enc:length")
                )
            }
        )
    }

    /// The first author with a name, most reliable element first, or else the first email address.
    private func author(_ fields: FeedFields<RSSTag>) -> Person? {
        var nameless: Person?
        for tag in [RSSTag.author, .dcCreator, .dcAuthor, .atomAuthor, .itunesAuthor] where fields[tag] != nil {
            for (_, element) in fields.all(tag) {
                let person = element.first("name") ?? element.first("atom:name") ?? element
                guard let author = Person(person.text) else { continue }
                if author.name != nil { return author }
                nameless = nameless ?? author
            }
        }
        return nameless
    }
}
