package import Feeds
internal import HubProtocol

/// Feed lists as an OPML document, from which ``FeedImport`` can restore them.
package struct FeedExport: Sendable {
    package let document: OPMLDocument
    /// Feeds that are not exported: those with `local`, which are private and cannot be read elsewhere.
    package private(set) var leftOut: [FeedAddress] = []
    /// Exported feeds with keys that are not exported, such as `headers`, and the names of the keys.
    package private(set) var withoutKeys: [(feed: FeedAddress, keys: [String])] = []
    /// Exported feeds whose address reveals a user name or password.
    package private(set) var withCredentials: [FeedAddress] = []

    /// Exports the lists of some categories, or all lists without categories.
    ///
    /// - Throws: ``FeedChoiceError`` for a category that has no list.
    package init(_ folder: FeedListFolder, categories: [String]) throws(FeedChoiceError) {
        var chosen: Set<String> = []
        for category in categories {
            for list in try folder.lists.chosen(category: category).lists { chosen.insert(list.file) }
        }
        var outlines: [OPMLOutline] = []
        for (list, text) in zip(folder.lists.lists, folder.texts) where categories.isEmpty || chosen.contains(list.file)
        {
            let category = list.category.text
            var outline = OutlineKeys.outline(ofList: text.members ?? [], category: category)
            for (feed, members) in zip(list.feeds, text.feeds) {
                guard !feed.isLocal else {
                    leftOut.append(feed.address)
                    continue
                }
                let left = members.map(\.name).filter { $0 != "local" && OutlineKeys.ofThisMachine.contains($0) }
                if !left.isEmpty { withoutKeys.append((feed.address, left)) }
                if feed.address.display != feed.address.text { withCredentials.append(feed.address) }
                outline.children.append(OutlineKeys.outline(ofFeed: members, category: category))
            }
            outlines.append(outline)
        }
        document = OPMLDocument(title: "Feed lists", outlines: outlines)
    }

    package var text: String { OPMLWriter.text(document, prefixes: [OutlineKeys.namespace: OutlineKeys.prefix]) }
}
