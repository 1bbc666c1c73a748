internal import FeedLists
internal import Feeds

/// The keys that identify a document's entries.
extension NewsJudge {
    /// Number of readings after which all keys of a document are marked again.
    static let refreshPeriod: Int64 = 16

    /// The keys by which the document is looked up first.
    var entryMarks: [EntryMark] {
        identities.indices.map { EntryMark(key: identities[$0].key, content: contents[$0]) }
    }

    /// Returns further keys to look up, of entries with unknown identities.
    func furtherKeys(_ state: SeenState) -> [SeenKey] {
        identities.indices.filter { state.unknown.contains(identities[$0].key) }.flatMap { position in
            otherKeys(of: position) + (rules.holdsFuture ? [SeenKey(.held, identities[position].key)] : [])
        }
    }

    /// Returns the keys that recognize stories of other feeds, of entries that may be announced.
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

    /// Returns the keys to mark after a judgement, in addition to those known before.
    ///
    /// A held entry is not marked as seen. The other keys of known entries are marked only at every ``refreshPeriod``:
    /// they are looked up when an entry changes its identity.
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

    /// Returns the keys by which the story is known once it is announced in this feed's language.
    func stories(of position: Int) -> [EntryKey] {
        if let key = alertKey(of: position) { return [key] }
        return [storyLink(of: position), storyTitle(of: position)].compactMap(\.self)
            + (translationKeys.isEmpty ? [] : translationKeys[position].map(voice.own))
    }

    /// Returns the keys by which the story is known if it is announced in other languages.
    func translatedKeys(of position: Int) -> [EntryKey] {
        translationKeys.isEmpty ? [] : translationKeys[position].flatMap(voice.elsewhere)
    }

    /// Returns the keys under which the story is stored.
    func ownKeys(of position: Int) -> [EntryKey] { [entryKey(of: position)] + sharedKeys(of: position) }

    /// Returns the members of ``ownKeys(of:)`` that other entries may have, too.
    private func sharedKeys(of position: Int) -> [EntryKey] {
        let keys = stories(of: position)
        guard mark(of: position) != nil else { return keys }
        return keys + markedKeys(of: position).filter { !keys.contains($0) }
    }

    func entryKey(of position: Int) -> EntryKey { EntryKey(identities[position].key, feed: record.id) }

    /// Returns the name of the story that begins with this entry.
    func name(of position: Int) -> String {
        let key = alertKey(of: position) ?? entryKey(of: position)
        return StoryName.of(category, key.description)
    }

    func storyLink(of position: Int) -> EntryKey? { link(of: identities[position]).map(voice.own) }

    func storyTitle(of position: Int) -> EntryKey? {
        guard alert(at: position) == nil else { return nil }
        return feed.entries[identities[position].index].title.flatMap { FormerStoryTitle.key($0) }.map(voice.own)
    }

    /// Returns the key of the identifier in any spelling; `nil` if every entry has the same one.
    func loose(of identity: EntryIdentity) -> EntryKey? {
        identityRule == .id ? identity.loose : nil
    }

    /// Returns the key of the link; `nil` for a link to a whole site, which many entries have.
    func link(of identity: EntryIdentity) -> EntryKey? {
        let entry = feed.entries[identity.index]
        guard entry.alert?.reference == nil, let key = identity.link, let link = entry.link,
            let address = try? FeedAddress(parsing: link, allowsFile: false), !address.isSiteRoot
        else { return nil }
        return key
    }
}

/// A hash of an entry's content: its title, text and files, but not its dates and counts.
///
/// For a message about other alerts it includes the message's identifier.
enum ContentKey {
    static func of(_ entry: Entry) -> EntryKey {
        var parts = ["content", entry.title ?? "", entry.summary ?? ""] + entry.enclosures.map(\.url)
        if let alert = entry.alert, alert.kind != .alert {
            parts += ["alert", alert.reference ?? "", alert.messageType ?? ""]
        }
        return EntryKey(hashing: parts.flatMap { Array($0.utf8) + [0] })
    }
}
