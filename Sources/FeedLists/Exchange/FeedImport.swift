package import Feeds
internal import HubProtocol
internal import OutboundHTTP

/// Adds the feeds of an OPML document to lists: first as a plan that changes nothing, then all at once.
package struct FeedImport: Sendable {
    /// A list that feeds are added to.
    private struct Target {
        let category: Tag
        let file: String
        /// The list's current text; `nil` for a new list.
        let text: FeedListText?
        /// The keys of the list itself.
        let members: [ListMember]
        var feeds: [[ListMember]] = []
    }

    private let folder: FeedListFolder
    /// The category of feeds outside folders.
    private let fallback: Tag?
    /// True if the document is the user's own export.
    private let isTrusted: Bool
    private var targets: [Target] = []
    private var positions: [Tag: Int] = [:]
    /// A list that has a feed.
    private struct Place {
        /// True for a list that is on disk, false for a folder of the document.
        let isListed: Bool
        let category: Tag
        let text: String
        let source: FeedSource
    }

    /// The lists of addresses that are already listed.
    private var places: [String: [Place]] = [:]
    /// The new texts of the lists that change.
    private(set) var changed: [FeedListText] = []
    private var noted: Set<String> = []

    package private(set) var report = FeedImportReport()

    /// Plans an import; `category` is the list for feeds outside folders.
    ///
    /// Keys that only the lists' owner may set (``OutlineKeys/ofOwners``) are ignored in a document that is not
    /// trusted.
    ///
    /// - Throws: ``FeedChoiceError`` for an invalid category, ``FeedListShapeError`` and ``FeedListsError`` when the
    ///   lists cannot hold the feeds.
    package init(
        _ document: OPMLDocument,
        into folder: FeedListFolder,
        category: String?,
        isTrusted: Bool = false
    ) throws {
        self.folder = folder
        self.isTrusted = isTrusted
        fallback = try category.map { name throws(FeedChoiceError) in
            guard let tag = CategoryName.tag(for: name), tag.text == name else {
                throw FeedChoiceError("'\(name)' is not a valid category: use letters, digits and -_@#.:")
            }
            return tag
        }
        for list in folder.lists.lists {
            for feed in list.feeds {
                let line = feed.line.map { " line \($0)" } ?? ""
                let place = Place(
                    isListed: true,
                    category: list.category,
                    text: "'\(list.file)'\(line)",
                    source: feed
                )
                places[feed.address.comparable, default: []].append(place)
            }
        }
        for outline in document.outlines { take(outline, path: [], category: nil) }
        try settle()
    }

    /// Writes all changed lists, or none.
    package func write() throws { try folder.write(changed) }

    // MARK: Outlines

    /// Adds an outline with its children; the reader limits the depth of the recursion.
    private mutating func take(_ outline: OPMLOutline, path: [String], category: Tag?) {
        if let address = outline.feedAddress {
            add(outline, address, path: path, category: category)
            for child in outline.children { take(child, path: path, category: category) }
            return
        }
        if let type = outline.unsupportedType {
            refuse(
                outline,
                "has the unsupported type '\(type.prefix(Self.shownCharacters))': its address is not a feed"
            )
            for child in outline.children { take(child, path: path, category: category) }
            return
        }
        let name = outline[.text] ?? outline[.title] ?? ""
        guard !outline.children.isEmpty || OutlineKeys.category(of: outline) != nil else {
            return refuse(outline, "is not a feed: it has no 'xmlUrl'")
        }
        guard !outline.isNamelessFolder else {
            // Its feeds belong to the enclosing folder, or else to `--category`.
            for child in outline.children { take(child, path: path, category: category) }
            return
        }
        let wanted = OutlineKeys.category(of: outline) ?? outline.title ?? name
        let isList = outline.holdsFeeds || OutlineKeys.category(of: outline) != nil
        let tag = CategoryName.tag(for: wanted)
        if isList {
            guard let tag else {
                let reason = "is not a valid category: use letters, digits and -_@#.:, and no reserved tag"
                return refuse(outline, "\(reason); none of its feeds are imported")
            }
            if tag.text != wanted { note("the folder '\(wanted)' becomes the category '\(tag)'") }
            guard open(tag, outline) else { return }
        }
        for child in outline.children { take(child, path: path + [wanted], category: isList ? tag : nil) }
    }

    /// - Returns: True if the category has a list, possibly a new one.
    private mutating func open(_ tag: Tag, _ outline: OPMLOutline?) -> Bool {
        let members = outline.map { OutlineKeys.list($0, category: tag.text) } ?? []
        if let position = positions[tag] {
            noteKept(members, targets[position])
            return true
        }
        let target: Target
        if let index = folder.lists.lists.firstIndex(where: { $0.category == tag }) {
            let text = folder.texts[index]
            let list = folder.lists.lists[index]
            target = Target(category: list.category, file: list.file, text: text, members: text.members ?? [])
            noteKept(members, target)
        } else {
            let file = CategoryName.file(for: tag, in: folder.directory) { file in
                folder.texts.contains { $0.file == file } || targets.contains { $0.file == file }
            }
            let members = permitted(members, in: "the list of '\(tag)'")
            if let outline, let problem = Self.problem(tag, members, Self.speakers(of: members)) {
                refuse(outline, "is not a valid list: \(problem); none of its feeds are imported")
                return false
            }
            target = Target(category: tag, file: file, text: nil, members: members)
        }
        positions[tag] = targets.count
        targets.append(target)
        return true
    }

    private mutating func noteKept(_ members: [ListMember], _ target: Target) {
        let other = members.filter { member in
            member.name != "opml"
                && target.members.first { $0.name == member.name }?.value.sorted != member.value.sorted
        }
        guard !other.isEmpty else { return }
        let names = other.map { "'\($0.name)'" }.joined(separator: ", ")
        note("the list of '\(target.category)' keeps its own keys: \(names) of the document are ignored")
    }

    /// The keys of a document that are accepted; the others are named in the report.
    private mutating func permitted(_ members: [ListMember], in place: String) -> [ListMember] {
        guard !isTrusted else { return members }
        let dropped = members.map(\.name).filter(OutlineKeys.ofOwners.contains)
        guard !dropped.isEmpty else { return members }
        let names = dropped.sorted().map { "'\($0)'" }.joined(separator: ", ")
        report.hints.insert(.trust)
        note("\(place): ignored in a document that is not trusted: \(names)")
        return members.filter { !OutlineKeys.ofOwners.contains($0.name) }
    }

    private mutating func add(_ outline: OPMLOutline, _ address: String, path: [String], category: Tag?) {
        guard let tag = category ?? fallback ?? Self.category(named: outline[.category]) else {
            report.hints.insert(.category)
            return refuse(outline, "is in no folder")
        }
        if let long = outline.attributes.first(where: { $0.value.utf8.count > OPMLReader.maximumValueBytes }) {
            return refuse(outline, "its '\(long.name)' is longer than \(OPMLReader.maximumValueBytes) bytes")
        }
        var outline = outline
        if path.count > 1, outline[.category] == nil {
            // The standard attribute for the folders of a single feed.
            let names = path.map { $0.filter { $0 != "/" && $0 != "," } }
            outline.attributes.append(OPMLOutline.Attribute(.category, "/" + names.joined(separator: "/")))
        }
        let all = OutlineKeys.feed(outline, address: address, category: tag.text)
        do throws(FeedAddressError) {
            let parsed = try FeedAddress(parsing: OutlineKeys.text(all, "url") ?? "", allowsFile: true)
            guard !parsed.isFile, AddressPolicy.publicOnly.allowsByName(parsed.bareHost) else {
                return refuse(outline, "is \(parsed.isFile ? "a file" : "in a private network"): \(Self.byHand)")
            }
            let known = places[parsed.comparable] ?? []
            // Your own export has feeds in several lists; another document adds none to a second one.
            if let place = known.first(where: { $0.category == tag || $0.isListed && !isTrusted }) {
                report.skipped.append(FeedImportReport.Skipped(url: parsed.display, place: place.text))
                return
            }
            let members = permitted(all, in: "'\(parsed.display)'")
            let source = Self.source(parsed, members)
            // A feed is fetched in one way for all lists.
            if let place = known.first(where: { !$0.source.differences(from: source).isEmpty }) {
                report.skipped.append(FeedImportReport.Skipped(url: parsed.display, place: place.text))
                return
            }
            if let problem = Self.problem(tag, mainLanguage(of: tag), [members]) { return refuse(outline, problem) }
            guard open(tag, nil), let position = positions[tag] else { return }
            for key in OutlineKeys.ofThisMachine.sorted() where outline[OutlineKeys.ours(key)] != nil {
                note("'\(parsed.display)': '\(key)' is ignored")
            }
            let line = outline.line.map { "line \($0) of the document" } ?? "the document"
            places[parsed.comparable, default: []].append(
                Place(isListed: false, category: tag, text: line, source: source)
            )
            targets[position].feeds.append(members)
            report.added.append(
                FeedImportReport.Added(
                    category: targets[position].category.text,
                    url: parsed.display,
                    title: OutlineKeys.text(members, "title"),
                    file: targets[position].file
                )
            )
        } catch {
            refuse(outline, "'\((OutlineKeys.text(all, "url") ?? "").prefix(Self.shownCharacters))' \(error)")
        }
    }

    /// The largest number of characters of an address or name in reports.
    private static let shownCharacters = 200
    private static let byHand = "add it to a list by hand, with 'local: true'"

    /// The feed with the keys that say how it is fetched.
    private static func source(_ address: FeedAddress, _ members: [ListMember]) -> FeedSource {
        var source = FeedSource(address: address, interval: nil, isLocal: false, title: nil, line: nil)
        source.isByAgreement = OutlineKeys.text(members, "by-agreement") == "true"
        return source
    }

    /// The last folder of the first path, as in `/News/World,Politics`.
    private static func category(named attribute: String?) -> Tag? {
        let first = attribute?.split(separator: ",").first?.split(separator: "/").last
        return first.flatMap { CategoryName.tag(for: String($0)) }
    }

    /// The errors that the reader of lists reports for such a list.
    private static func problem(_ tag: Tag, _ members: [ListMember], _ feeds: [[ListMember]]) -> String? {
        var reader = FeedListReader(file: "")
        _ = reader.read(FeedListText(file: "", category: tag.text, members: members, feeds: feeds).text)
        return reader.problems.first?.text
    }

    private mutating func refuse(_ outline: OPMLOutline, _ reason: String) {
        let name = outline.title ?? outline.feedAddress ?? outline[.text] ?? "outline"
        let shown = String(name.prefix(Self.shownCharacters))
        report.refused.append(FeedImportReport.Refused(line: outline.line, name: shown, reason: reason))
    }

    private mutating func note(_ text: String) {
        if noted.insert(text).inserted { report.notes.append(text) }
    }

    // MARK: Languages

    /// The key that names the main language of a category's list, on which the feed's language depends.
    private func mainLanguage(of tag: Tag) -> [ListMember] {
        let index = folder.lists.lists.firstIndex { $0.category == tag }
        let members = positions[tag].map { targets[$0].members } ?? index.flatMap { folder.texts[$0].members } ?? []
        return members.filter { $0.name == "language" }
    }

    /// Placeholder feeds for each language in which a list has a text, to validate the list before its feeds are added.
    private static func speakers(of members: [ListMember]) -> [[ListMember]] {
        guard case .mapping(let texts)? = members.first(where: { $0.name == "templates" })?.value else { return [] }
        return texts.enumerated().map { index, text in
            [ListMember("url", .text("https://example.org/\(index)")), ListMember("language", .text(text.name))]
        }
    }

    /// The keys of a new list, without texts in languages of feeds that were not added.
    private mutating func spoken(_ target: Target) -> [ListMember] {
        let languages = Set(target.feeds.compactMap { OutlineKeys.text($0, "language") })
        return target.members.compactMap { member in
            guard member.name == "templates", case .mapping(let texts) = member.value else { return member }
            let kept = texts.filter { languages.contains($0.name) }
            for text in texts where !languages.contains(text.name) {
                note("the list of '\(target.category)' has no feed in \(text.name): its template is not imported")
            }
            return kept.isEmpty ? nil : ListMember(member.name, .mapping(kept))
        }
    }

    // MARK: Lists

    /// Creates the new texts, and reads them as the publisher will.
    private mutating func settle() throws {
        for target in targets {
            if let text = target.text {
                if !target.feeds.isEmpty { changed.append(try text.appending(target.feeds)) }
            } else {
                changed.append(
                    FeedListText(
                        file: target.file,
                        category: target.category.text,
                        members: spoken(target),
                        feeds: target.feeds
                    )
                )
            }
        }
        _ = try folder.with(changed)
        report.files = changed.map(\.file)
    }
}

extension OPMLOutline {
    /// True if a feed is directly in this folder, or in a nested folder without a name.
    fileprivate var holdsFeeds: Bool {
        children.contains { $0.feedAddress != nil || $0.isNamelessFolder && $0.holdsFeeds }
    }

    fileprivate var isNamelessFolder: Bool {
        feedAddress == nil && !children.isEmpty && OutlineKeys.category(of: self) == nil && title == nil
            && (self[.text] ?? self[.title] ?? "").allSatisfy(\.isWhitespace)
    }
}
