internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Entries that their list knows as corrections and retractions.
extension NewsJudge {
    /// The time for which a correction that is an entry of its own finds its story: about as long as a message is seen.
    static let correctionWindow: Duration = .seconds(72 * 3_600)

    func mark(of position: Int) -> EditorialMark? {
        rules.marks.mark(of: feed.entries[identities[position].index])
    }

    /// Its title without the mark, as another entry may have it.
    func unmarkedTitle(of position: Int) -> EntryKey? {
        feed.entries[identities[position].index].title.flatMap { StoryTitle.key($0, without: rules.marks) }
            .map(voice.own)
    }

    /// Its link, also where it stands in the document twice: on the story and on its correction.
    ///
    /// What more entries link to is no story's page but a page of many.
    func markedLink(of position: Int) -> EntryKey? {
        guard let link = feed.entries[identities[position].index].link, let key = EntryKey(link: link),
            !crowdedLinks.contains(key),
            let address = try? FeedAddress(parsing: link, allowsFile: false), !address.isSiteRoot,
            feed.link.flatMap(EntryKey.init(link:)) != key
        else { return nil }
        return voice.own(key)
    }

    /// The story that this feed's own entry told.
    func ownStory(_ position: Int, _ state: SeenState) -> KnownStory? {
        ([entryKey(of: position)] + stories(of: position)).lazy.compactMap { state.stories[$0] }.first
    }

    /// Keeps the last of several marked entries of one story; an unmarked entry of the same document yields to them.
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
            // What several have tells nothing of one.
            let given = markedKeys(of: position).compactMap { originals[$0] }.filter { $0.count == 1 }.flatMap(\.self)
            for original in given {
                effects.silences[original] = .superseded
                if unwanted(original) == nil { effects.wanted.insert(position) }
            }
            guard let story = markedStory(position, state) else {
                if !given.isEmpty, mark.status == .withdrawn {
                    var change = change(.withdrawn, position, of: [])
                    // Another feed's story stays what it is.
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

    /// True if it is new, was read before and says something else now, or is known by its link only.
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

    /// True if its page is of the server that the feed is of: nobody puts another's stories right.
    private func isOnOwnSite(_ position: Int) -> Bool {
        guard let link = feed.entries[identities[position].index].link,
            let page = try? FeedAddress(parsing: link, allowsFile: false)
        else { return false }
        return [record.url, record.movedURL].compactMap(\.self).contains { url in
            (try? FeedAddress(parsing: url, allowsFile: true))?.sharesSite(with: page) ?? false
        }
    }

    /// True if a feed that is read for the first time says it of a story that was announced: what its entries corrected
    /// long ago is old.
    private func isOfFirstReading(_ position: Int, _ story: KnownStory) -> Bool {
        record.baseline == nil && !isLater(position, than: story.announced)
    }

    /// Each correction once: not what was said already, nor what another feed has put right.
    private func isNews(_ position: Int, _ story: KnownStory, _ mark: EditorialMark) -> Bool {
        guard !story.isWithdrawn, story.showing != .never || story.unsent != nil, story.content != contents[position]
        else { return false }
        guard mark.status == .correction, story.feed != record.id, let corrected = story.corrected else { return true }
        return abs(now.timeIntervalSince(corrected)) > Self.storyWindow.inSeconds
    }

    /// One correction of a story an hour: a later one waits, and gives way to one later still.
    private func pause(after story: KnownStory) -> Date? {
        guard let corrected = story.corrected else { return nil }
        if story.unsent != nil { return story.unsent?.notBefore }
        let end = corrected.addingTimeInterval(Self.updatePause.inSeconds)
        return end > now && end.timeIntervalSince(now) <= Self.updatePause.inSeconds ? end : nil
    }
}
