internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Entries that their list marks as corrections and retractions.
extension NewsJudge {
    /// Time within which a correction in a separate entry finds its story: about as long as people see a message.
    static let correctionWindow: Duration = .seconds(72 * 3_600)

    func mark(of position: Int) -> EditorialMark? {
        rules.marks.mark(of: feed.entries[identities[position].index])
    }

    /// Returns the key of the title without its mark, which the corrected entry may have as its title.
    func unmarkedTitle(of position: Int) -> EntryKey? {
        feed.entries[identities[position].index].title.flatMap { FormerStoryTitle.key($0, without: rules.marks) }
            .map(voice.own)
    }

    /// Returns the key of an entry's link, even if two entries have the link: the story and its correction.
    ///
    /// A link of more entries leads to a page of many stories.
    func markedLink(of position: Int) -> EntryKey? {
        guard let link = feed.entries[identities[position].index].link, let key = EntryKey(link: link),
            !crowdedLinks.contains(key),
            let address = try? FeedAddress(parsing: link, allowsFile: false), !address.isSiteRoot,
            feed.link.flatMap(EntryKey.init(link:)) != key
        else { return nil }
        return voice.own(key)
    }

    /// Returns the story that this feed announced with the entry.
    func ownStory(_ position: Int, _ state: SeenState) -> KnownStory? {
        ([entryKey(of: position)] + stories(of: position)).lazy.compactMap { state.stories[$0] }.first
    }

    /// Keeps the last of several marked entries of one story, which precedes an unmarked entry of the same document.
    func settleMarked(_ effects: inout Effects, _ silences: [Int: SilenceReason], _ state: SeenState) {
        guard !rules.marks.isEmpty else { return }
        let candidates = identities.indices.filter { alert(at: $0) == nil && isOpen($0, silences, state) }
        let marks = Dictionary(uniqueKeysWithValues: candidates.map { ($0, mark(of: $0)) }).compactMapValues(\.self)
        guard !marks.isEmpty else { return }
        var originals: [EntryKey: [Int]] = [:]
        for position in candidates where marks[position] == nil && silences[position] == nil {
            for key in [markedLink(of: position), storyTitle(of: position)].compactMap(\.self) {
                originals[key, default: []].append(position)
            }
        }
        var claims: [String: Int] = [:]
        for position in inOrder(Array(marks.keys)) {
            guard let mark = marks[position] else { continue }
            // A key of several entries does not identify one of them.
            let given = markedKeys(of: position).compactMap { originals[$0] }.filter { $0.count == 1 }.flatMap(\.self)
            for original in given {
                effects.silences[original] = .superseded
                if unwanted(original) == nil { effects.wanted.insert(position) }
            }
            guard let story = markedStory(position, state) else {
                if !given.isEmpty, mark.status == .withdrawn {
                    var change = change(.withdrawn, position, of: [])
                    // The stories of other feeds do not change.
                    change.keys.removeAll { key in state.stories[key].map { $0.feed != record.id } ?? false }
                    effects.withdraw(position, change)
                }
                continue
            }
            guard !isOfFirstReading(position, story) else { continue }
            guard isNews(position, story, mark) else {
                if silences[position] == nil, story.isWithdrawn || story.showing != .never {
                    effects.silences[position] = story.isWithdrawn ? .withdrawn : .sameStory(.title)
                }
                continue
            }
            if let other = claims.updateValue(position, forKey: story.name) {
                effects.changes[other] = nil
                effects.silences[other] = .superseded
            }
            var change = change(mark.status, position, of: [story])
            if mark.status == .correction {
                change.notBefore = pause(after: story)
                effects.changes[position] = change
            } else {
                effects.withdraw(position, change)
            }
        }
    }

    /// True for an entry that is new, has changed since it was read, or is known by its link only.
    private func isOpen(_ position: Int, _ silences: [Int: SilenceReason], _ state: SeenState) -> Bool {
        switch silences[position] {
        case nil, .seenBefore(.link), .seenBefore(.loose): true
        case .seenBefore(.entry): state.edited.contains(identities[position].key)
        default: false
        }
    }

    /// The keys by which a marked entry finds its story.
    func markedKeys(of position: Int) -> [EntryKey] {
        [markedLink(of: position), unmarkedTitle(of: position)].compactMap(\.self)
    }

    private func markedStory(_ position: Int, _ state: SeenState) -> KnownStory? {
        if let story = state.stories[entryKey(of: position)] { return story }
        if let story = markedLink(of: position).flatMap({ state.stories[$0] }), isRecent(story),
            story.feed == record.id || isOnOwnSite(position)
        {
            return story
        }
        guard let story = unmarkedTitle(of: position).flatMap({ state.stories[$0] }), isRecent(story),
            story.feed == record.id
        else { return nil }
        return story
    }

    private func isRecent(_ story: KnownStory) -> Bool {
        abs(now.timeIntervalSince(story.announced)) <= Self.correctionWindow.inSeconds
    }

    /// True if the entry's page is on the feed's own server: a feed cannot correct the stories of other sites.
    private func isOnOwnSite(_ position: Int) -> Bool {
        guard let link = feed.entries[identities[position].index].link,
            let page = try? FeedAddress(parsing: link, allowsFile: false)
        else { return false }
        return [record.url, record.movedURL].compactMap(\.self).contains { url in
            (try? FeedAddress(parsing: url, allowsFile: true))?.sharesSite(with: page) ?? false
        }
    }

    /// True for a marked entry of a feed's first reading whose story was announced: its correction is old.
    private func isOfFirstReading(_ position: Int, _ story: KnownStory) -> Bool {
        record.baseline == nil && !isLater(position, than: story.announced)
    }

    /// True for a correction or withdrawal that was not announced before, and that no other feed has just made.
    private func isNews(_ position: Int, _ story: KnownStory, _ mark: EditorialMark) -> Bool {
        guard !story.isWithdrawn, story.showing != .never || story.unsent != nil, story.content != contents[position]
        else { return false }
        guard mark.status == .correction, story.feed != record.id, let corrected = story.corrected else { return true }
        return abs(now.timeIntervalSince(corrected)) > Self.storyWindow.inSeconds
    }

    /// Returns the time of the next correction of a story: one an hour; a later correction replaces one that waits.
    private func pause(after story: KnownStory) -> Date? {
        guard let corrected = story.corrected else { return nil }
        if story.unsent != nil { return story.unsent?.notBefore }
        let end = corrected.addingTimeInterval(Self.updatePause.inSeconds)
        return end > now && end.timeIntervalSince(now) <= Self.updatePause.inSeconds ? end : nil
    }
}
