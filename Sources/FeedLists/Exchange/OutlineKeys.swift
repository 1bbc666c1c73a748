internal import Feeds

/// Converts the keys of a feed list to attributes of an outline, and back.
///
/// OPML's own attributes give `url` and `title`; attributes without a matching key are kept under `opml`. Keys without
/// an OPML attribute have attributes in our own namespace, which take precedence.
enum OutlineKeys {
    static let namespace = "urn:x-newswire:feed-list"
    static let prefix = "newswire"
    /// Keys never exported, nor accepted from a document: a third party could make us send requests to our own network,
    /// or files of this machine to a server.
    static let ofThisMachine = FeedListKey.ofThisMachine
    /// Keys accepted only from the user's own documents: they control polling, corrections and retractions.
    static let ofOwners: Set = ["every", "by-agreement", "updates", "corrections", "retractions"]

    private static let category = ours("category")

    static func ours(_ key: String) -> OPMLName { OPMLName(key, in: namespace) }

    // MARK: Reading

    /// The category in a folder's own attribute, if there is one.
    static func category(of folder: OPMLOutline) -> String? { folder[category] }

    /// The keys of a list, without its category and feeds.
    static func list(_ folder: OPMLOutline, category: String) -> [ListMember] {
        var rest = folder.attributes.filter { $0.name != .title || $0.value != folder[.text] }
        rest.removeAll { $0.name == .text && $0.value == category }
        return members([], rest, but: ["category", "feeds"])
    }

    /// The keys of a feed; `category` is that of its list.
    static func feed(_ outline: OPMLOutline, address: String?, category: String) -> [ListMember] {
        var members: [ListMember] = []
        if let address { members.append(ListMember("url", .text(address))) }
        let title = outline.title
        if let title { members.append(ListMember("title", .text(title))) }
        let rest = outline.attributes.filter { attribute in
            switch attribute.name {
            case .xmlURL, .title: false
            case .url: outline[.xmlURL] != nil
            case .text: title != nil && outline[.title] != nil && attribute.value != outline[.title]
            case .type: attribute.value.lowercased() != "rss"
            case .category: attribute.value != "/\(category)"
            default: true
            }
        }
        return self.members(members, rest, but: [])
    }

    private static func members(
        _ standard: [ListMember],
        _ attributes: [OPMLOutline.Attribute],
        but left: Set<String>
    ) -> [ListMember] {
        var members = standard
        var others: [ListMember] = []
        for attribute in attributes where !attribute.value.isEmpty {
            if attribute.name.namespace != namespace {
                others.append(ListMember(attribute.name.description, .text(attribute.value)))
            }
        }
        if !others.isEmpty { members.append(ListMember("opml", .mapping(others))) }
        for attribute in attributes where attribute.name.namespace == namespace {
            let key = attribute.name.local
            guard !ofThisMachine.contains(key), !left.contains(key) else { continue }
            let member = ListMember(key, ListValue(attribute: attribute.value))
            if let place = members.firstIndex(where: { $0.name == key }) {
                members[place] = member
            } else {
                members.append(member)
            }
        }
        return members
    }

    // MARK: Writing

    /// The folder of a list, without its feeds.
    static func outline(ofList members: [ListMember], category: String) -> OPMLOutline {
        var outline = OPMLOutline()
        // With an address it would be a feed.
        let others = kept(members).filter { ![OPMLName.url.local, OPMLName.xmlURL.local].contains($0.key) }
        outline.set(.text, others[OPMLName.text.local] ?? category)
        outline.set(Self.category, category)
        outline.set(others)
        let known = members.filter { !["category", "feeds"].contains($0.name) }
        outline.set(known, readBack: list(outline, category: category))
        return outline
    }

    static func outline(ofFeed members: [ListMember], category: String) -> OPMLOutline {
        var outline = OPMLOutline()
        let others = kept(members).filter { ![OPMLName.title.local, OPMLName.xmlURL.local].contains($0.key) }
        let address = text(members, "url") ?? ""
        let title = text(members, "title")
        outline.set(.type, others[OPMLName.type.local] ?? "rss")
        outline.set(.text, title == nil ? address : others[OPMLName.text.local] ?? title ?? "")
        if let title { outline.set(.title, title) }
        outline.set(.xmlURL, address)
        outline.set(others)
        if others[OPMLName.category.local] == nil { outline.set(.category, "/\(category)") }
        let known = members.filter { !ofThisMachine.contains($0.name) }
        outline.set(known, readBack: feed(outline, address: outline.feedAddress, category: category))
        return outline
    }

    static func text(_ members: [ListMember], _ name: String) -> String? {
        members.first { $0.name == name }?.value.text
    }

    private static func kept(_ members: [ListMember]) -> [String: String] {
        guard case .mapping(let kept)? = members.first(where: { $0.name == "opml" })?.value else { return [:] }
        return Dictionary(kept.compactMap { member in member.value.text.map { (member.name, $0) } }) { first, _ in first
        }
    }
}

extension OPMLOutline {
    fileprivate mutating func set(_ name: OPMLName, _ value: String) {
        guard self[name] == nil else { return }
        // Characters that XML does not allow are dropped; reading the outline back detects the difference.
        let text = value.unicodeScalars.filter(OPMLWriter.isAllowed)
        attributes.append(Attribute(name, String(String.UnicodeScalarView(text))))
    }

    fileprivate mutating func set(_ others: [String: String]) {
        for (text, value) in others.sorted(by: { $0.key < $1.key }) {
            if let name = OPMLName(parsing: text), name.namespace != OutlineKeys.namespace { set(name, value) }
        }
    }

    /// Sets our own attributes for values that the other attributes do not preserve.
    fileprivate mutating func set(_ members: [ListMember], readBack: [ListMember]) {
        for member in members {
            let other = readBack.first { $0.name == member.name }?.value
            if other?.sorted != member.value.sorted { set(OutlineKeys.ours(member.name), member.value.attribute) }
        }
    }
}

extension ListValue {
    /// The value with the members of mappings sorted by name, since their order has no meaning.
    var sorted: ListValue {
        switch self {
        case .text: self
        case .list(let values): .list(values.map(\.sorted))
        case .mapping(let members):
            .mapping(members.map { ListMember($0.name, $0.value.sorted) }.sorted { $0.name < $1.name })
        }
    }
}
