internal import FoundationEssentials

/// The rules for distinguishing entries of one feed, best first.
///
/// If all entries of a feed have the same identifier, the next rule is used. Store this rule with the feed, and pass it
/// to the next ``Feed/identity(startingAt:)``; otherwise the keys would change when such a feed shrinks.
package enum IdentityRule: Int, Sendable, Comparable, CaseIterable {
    case id, link, titleAndDate, titleAndText

    package static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
}

/// The keys of one entry of a document.
package struct EntryIdentity: Sendable, Equatable {
    /// The position in ``Feed/entries``.
    package let index: Int
    package let key: EntryKey
    /// The key of the identifier without scheme and `www.`.
    ///
    /// It finds an entry again after its publisher has moved to `https` or to another spelling of the host.
    ///
    /// `nil` when the entry has no identifier of its own.
    package let loose: EntryKey?
    /// The key of the link, normalized for comparison; the same in every feed.
    ///
    /// `nil` when several entries of this document have the link, or when it is the feed's own page: such a link does
    /// not identify a story.
    package let link: EntryKey?
    /// The key of the link even if several entries of this document have it.
    package let page: EntryKey?
}

extension EntryKey {
    /// Creates the key of a link, as in ``EntryIdentity/link``; `nil` when the text is not an address.
    package init?(link: String) {
        guard let link = URLReference(link)?.comparable else { return nil }
        self.init("link", link)
    }

    /// Creates the key of an alert from its ``Alert/reference``; the same in every feed and in other alerts'
    /// references.
    ///
    /// The time in the reference is compared as a time, since senders do not always write it in the same zone.
    package init(alert reference: String) {
        let parts = reference.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, let sent = FeedDate.parse(parts[2]) else {
            self.init("alert", reference)
            return
        }
        self.init("alert", parts[0], parts[1], String(Int64(sent.timeIntervalSince1970)))
    }

    /// Creates the key of an identifier, as in ``EntryIdentity/key``.
    package init(id: String) { self.init("id", id) }

    /// Creates the key of a feed's entry among the entries of all feeds.
    package init(_ key: EntryKey, feed: Int64) {
        self.init("entry", String(feed), key.description)
    }
}

extension Feed {
    /// The number of entries that may have the same key before the rule is abandoned.
    ///
    /// A feed may repeat an edited entry (RFC 4287 §4.1.1), and does so rarely; a feed with its home page in every
    /// `guid` repeats the key for all entries.
    private static let toleratedRepeats = 3

    /// The keys of all distinct entries, by the best rule that works for this document.
    package func keys() -> [EntryIdentity] {
        identity(startingAt: .id).entries
    }

    /// The keys of all distinct entries, and the rule that was used.
    ///
    /// Among entries with the same key, the newest by ``Entry/updated`` is used, or else the first. Entries without any
    /// identifying field are left out.
    ///
    /// - Parameter rule: The first rule to try, which is the rule used for the last document of this feed.
    /// - Returns: The rule to store with the feed, and the entries in document order.
    package func identity(startingAt rule: IdentityRule) -> (rule: IdentityRule, entries: [EntryIdentity]) {
        let links = entries.map { comparableLink(of: $0) }
        let rules = IdentityRule.allCases.filter { $0 >= rule }
        for rule in rules.dropLast() {
            let keys = entries.indices.map { key(of: entries[$0], link: links[$0], by: rule) }
            if isFit(keys) { return (rule, identities(distinguished(keys, links: links), links: links)) }
        }
        let keys = entries.indices.map { key(of: entries[$0], link: links[$0], by: .titleAndText) }
        return (.titleAndText, identities(keys, links: links))
    }

    private func isFit(_ keys: [EntryKey?]) -> Bool {
        let counts = keys.compactMap(\.self).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        guard let most = counts.values.max() else { return true }
        let isSharedByAll = most > 1 && most == keys.count && !entries.contains { $0.updated != nil }
        return most <= Self.toleratedRepeats && !isSharedByAll
    }

    /// Returns the keys with those replaced that entries of one page share which only their link identifies.
    ///
    /// They are entries of their own if their links differ behind `#`, or both titles and dates do.
    private func distinguished(_ keys: [EntryKey?], links: [String?]) -> [EntryKey?] {
        let counts = keys.compactMap(\.self).reduce(into: [:]) { $0[$1, default: 0] += 1 }
        guard counts.contains(where: { $0.value > 1 }) else { return keys }
        let shared = Dictionary(
            grouping: keys.indices.filter { index in
                keys[index].map {
                    counts[$0, default: 0] > 1 && links[index].map { EntryKey("link", $0) } == keys[index]
                }
                    ?? false
            }
        ) { keys[$0] }
        var keys = keys
        for (key, places) in shared {
            let fragments = Set(places.map { entries[$0].link.flatMap(URLReference.init)?.fragment })
            if fragments.count == places.count {
                for place in places {
                    let fragment = entries[place].link.flatMap(URLReference.init)?.fragment ?? ""
                    keys[place] = key.map { EntryKey("fragment", $0.description, fragment) }
                }
            } else if Set(places.map { entries[$0].title }).count > 1, Set(places.map { entries[$0].date }).count > 1 {
                for place in places where entries[place].date != nil {
                    keys[place] = self.key(of: entries[place], link: nil, by: .titleAndDate)
                }
            }
        }
        return keys
    }

    private func identities(_ keys: [EntryKey?], links: [String?]) -> [EntryIdentity] {
        var chosen: [EntryKey: Int] = [:]
        var order: [EntryKey] = []
        for (index, key) in keys.enumerated() {
            guard let key else { continue }
            guard let other = chosen[key] else {
                chosen[key] = index
                order.append(key)
                continue
            }
            if let new = entries[index].updated, let old = entries[other].updated, new > old { chosen[key] = index }
        }
        let picked = order.compactMap { key in chosen[key].map { (key, $0) } }
        let linkCounts = picked.reduce(into: [String: Int]()) { counts, pick in
            if let link = links[pick.1] { counts[link, default: 0] += 1 }
        }
        return picked.map { key, index in
            let page = links[index].map { EntryKey("link", $0) }
            let isDistinct = links[index].map { linkCounts[$0] == 1 } ?? false
            return EntryIdentity(
                index: index,
                key: key,
                loose: entries[index].id.map { EntryKey("loose", Self.withoutScheme($0)) },
                link: isDistinct ? page : nil,
                page: page
            )
        }
    }

    /// The key of an entry by a rule, or by the next rule if the entry lacks the field.
    private func key(of entry: Entry, link: String?, by rule: IdentityRule) -> EntryKey? {
        if rule <= .id, let id = entry.id { return EntryKey("id", id) }
        if rule <= .link, let link { return EntryKey("link", link) }
        let title = entry.title ?? ""
        if rule <= .titleAndDate, let date = entry.date {
            return EntryKey("title and date", title, String(Int64(date.timeIntervalSince1970)))
        }
        guard entry.title != nil || entry.summary != nil else { return entry.id.map { EntryKey("id", $0) } }
        return EntryKey("title and text", title, entry.summary ?? "")
    }

    private func comparableLink(of entry: Entry) -> String? {
        guard let link = entry.link.flatMap(URLReference.init)?.comparable else { return nil }
        return link == self.link.flatMap(URLReference.init)?.comparable ? nil : link
    }

    private static func withoutScheme(_ id: String) -> String {
        var rest = id[...]
        if let end = rest.firstRange(of: "://"), rest[..<end.lowerBound].utf8.count <= 8 {
            rest = rest[end.upperBound...]
        }
        if rest.lowercased().hasPrefix("www.") { rest = rest.dropFirst(4) }
        while rest.hasSuffix("/") { rest = rest.dropLast() }
        return String(rest)
    }
}
