internal import FeedLists
internal import Feeds

/// The keys that a document's entries are known by.
extension NewsJudge {
    /// Readings after which all keys of a document are marked anew.
    static let refreshPeriod: Int64 = 16

    /// The keys that the document is first looked up by.
    var entryMarks: [EntryMark] {
        identities.indices.map { EntryMark(key: identities[$0].key, content: contents[$0]) }
    }

    /// The further keys to look up of entries whose identities are unknown.
    func furtherKeys(_ state: SeenState) -> [SeenKey] {
        identities.indices.filter { state.unknown.contains(identities[$0].key) }.flatMap { position in
            otherKeys(of: position) + (rules.holdsFuture ? [SeenKey(.held, identities[position].key)] : [])
        }
    }

    /// Keys by which a second feed's stories are known, of entries that may be announced.
    func storyKeys(_ state: SeenState) -> [EntryKey] {
        identities.indices.flatMap { position -> [EntryKey] in
            let key = identities[position].key
            if state.unknown.contains(key) {
                return sharedKeys(of: position) + references(of: position) + translatedKeys(of: position)
            }
            let isWanted = rules.announcesUpdates || replacesOthers(position) || mark(of: position) != nil
            return state.edited.contains(key) && isWanted ? ownKeys(of: position) + references(of: position) : []
        }
    }

    /// The keys to be marked once this was decided, beside those that were known already.
    ///
    /// An entry that waits is not seen yet. The other keys of known entries are marked now and then only: they are looked
    /// up when an entry changes its identity.
    func marks(after judgement: Judgement) -> [SeenKey] {
        let refreshesAll = (record.readings + 1) % Self.refreshPeriod == 0
        return identities.indices.flatMap { position -> [SeenKey] in
            let key = identities[position].key
            switch judgement.silences[identities[position].index] {
            case .held: return [SeenKey(.held, key)]
            case .seenBefore(.entry), .edited, .updateLimit:
                return [SeenKey(.entry, key)] + (refreshesAll ? otherKeys(of: position) : [])
            default: return [SeenKey(.entry, key)] + otherKeys(of: position)
            }
        }
    }

    func otherKeys(of position: Int) -> [SeenKey] {
        let identity = identities[position]
        return [
            loose(of: identity).map { SeenKey(.loose, $0) }, link(of: identity).map { SeenKey(.link, $0) },
            title(of: position).map { SeenKey(.title, $0) },
        ].compactMap(\.self)
    }

    func title(of position: Int) -> EntryKey? {
        alert(at: position) == nil ? TitleKey.of(feed.entries[identities[position].index]) : nil
    }

    /// The keys by which its story is known once it is told in this feed's language.
    func stories(of position: Int) -> [EntryKey] {
        if let key = alertKey(of: position) { return [key] }
        return [storyLink(of: position), storyTitle(of: position)].compactMap(\.self)
            + (translationKeys.isEmpty ? [] : translationKeys[position].map(voice.own))
    }

    /// The keys by which its story is known where it is told in other languages.
    func translatedKeys(of position: Int) -> [EntryKey] {
        translationKeys.isEmpty ? [] : translationKeys[position].flatMap(voice.elsewhere)
    }

    /// The keys by which its story is stored.
    func ownKeys(of position: Int) -> [EntryKey] { [entryKey(of: position)] + sharedKeys(of: position) }

    /// Those of ``ownKeys(of:)`` that other entries may have, too.
    private func sharedKeys(of position: Int) -> [EntryKey] {
        let keys = stories(of: position)
        guard mark(of: position) != nil else { return keys }
        return keys + markedKeys(of: position).filter { !keys.contains($0) }
    }

    func entryKey(of position: Int) -> EntryKey { EntryKey(identities[position].key, feed: record.id) }

    /// The name of the story that it begins.
    func name(of position: Int) -> String {
        let key = alertKey(of: position) ?? entryKey(of: position)
        return StoryName.of(category, key.description)
    }

    func storyLink(of position: Int) -> EntryKey? { link(of: identities[position]).map(voice.own) }

    func storyTitle(of position: Int) -> EntryKey? {
        guard alert(at: position) == nil else { return nil }
        return feed.entries[identities[position].index].title.flatMap { StoryTitle.key($0) }.map(voice.own)
    }

    /// An identifier that stands on every entry tells nothing of one in any spelling.
    func loose(of identity: EntryIdentity) -> EntryKey? {
        identityRule == .id ? identity.loose : nil
    }

    /// A link to a whole site is on many entries and tells nothing of one.
    func link(of identity: EntryIdentity) -> EntryKey? {
        let entry = feed.entries[identity.index]
        guard entry.alert?.reference == nil, let key = identity.link, let link = entry.link,
            let address = try? FeedAddress(parsing: link, allowsFile: false), !address.isSiteRoot
        else { return nil }
        return key
    }
}

/// A hash of what an entry says: its title, text and files, not its dates and counts; of a message about other alerts
/// also which it is.
enum ContentKey {
    static func of(_ entry: Entry) -> EntryKey {
        var parts = ["content", entry.title ?? "", entry.summary ?? ""] + entry.enclosures.map(\.url)
        if let alert = entry.alert, alert.kind != .alert {
            parts += ["alert", alert.reference ?? "", alert.messageType ?? ""]
        }
        return EntryKey(hashing: parts.flatMap { Array($0.utf8) + [0] })
    }
}
