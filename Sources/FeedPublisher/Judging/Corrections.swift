internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Entries that their list marks as corrections and retractions.
extension NewsJudge {
    /// Time within which a correction in a separate entry finds its story: about as long as people see a message.
    static let correctionWindow: Duration = .seconds(72 * 3_600)

    /// Keeps the last of several marked entries of one story, which precedes an unmarked entry of the same document.
    func settleMarked(_ candidates: [Candidate], _ known: Knowledge, _ effects: inout Effects) {
        guard !rules.marks.isEmpty else { return }
        let candidates = candidates.filter { $0.alert == nil && isOpen($0, known) }
        let marked = candidates.filter { $0.mark != nil }
        guard !marked.isEmpty else { return }
        var originals: [EntryKey: [Candidate]] = [:]
        for candidate in candidates where candidate.mark == nil && known.document.recognized[candidate.place] == nil {
            for key in [markedLink(of: candidate.entry), candidate.keys.storyTitle].compactMap(\.self) {
                originals[key, default: []].append(candidate)
            }
        }
        var claims: [String: Candidate] = [:]
        for candidate in dates.inOrder(marked) {
            guard let mark = candidate.mark else { continue }
            // A key of several entries does not identify one of them.
            let given = candidate.keys.marked.compactMap { originals[$0] }.filter { $0.count == 1 }.flatMap(\.self)
            for original in given {
                effects.skipped[original.place] = .superseded
                if known.skipReason(for: original) == nil { effects.wanted.insert(candidate.place) }
            }
            guard let story = markedStory(candidate, known) else {
                if !given.isEmpty, mark.status == .withdrawn {
                    var change = change(.withdrawn, candidate, of: [])
                    // The stories of other feeds do not change.
                    change.keys.removeAll { key in
                        known.seen.stories[key].map { $0.feed != record.id } ?? false
                    }
                    effects.withdraw(candidate, change)
                }
                continue
            }
            guard !isOfFirstReading(candidate, story, known) else { continue }
            guard isNews(candidate, story, mark) else {
                if known.document.recognized[candidate.place] == nil, story.isWithdrawn || story.showing != .never {
                    effects.skipped[candidate.place] = story.isWithdrawn ? .withdrawn : .sameStory(.title)
                }
                continue
            }
            if let other = claims.updateValue(candidate, forKey: story.name) {
                effects.changes[other.place] = nil
                effects.skipped[other.place] = .superseded
            }
            var change = change(mark.status, candidate, of: [story])
            if mark.status == .correction {
                change.notBefore = pause(after: story)
                effects.changes[candidate.place] = change
            } else {
                effects.withdraw(candidate, change)
            }
        }
    }

    /// True for an entry that is new, has changed since it was read, or is known by its link only.
    private func isOpen(_ candidate: Candidate, _ known: Knowledge) -> Bool {
        switch known.document.recognized[candidate.place] {
        case nil, .seenBefore(.link), .seenBefore(.loose), .seenBefore(.entry): true
        default: false
        }
    }

    private func markedStory(_ candidate: Candidate, _ known: Knowledge) -> KnownStory? {
        let stories = known.seen.stories
        if let story = stories[candidate.keys.own] { return story }
        if let story = candidate.keys.markedLink.flatMap({ stories[$0] }), isRecent(story),
            // A feed cannot correct the stories of other sites.
            story.feed == record.id || known.isOnOwnSite(candidate)
        {
            return story
        }
        let titles = [candidate.keys.unmarkedTitle, candidate.keys.formerUnmarkedTitle].compactMap(\.self)
        return titles.lazy.compactMap { stories[$0] }.first { isRecent($0) && $0.feed == record.id }
    }

    private func isRecent(_ story: KnownStory) -> Bool {
        abs(now.timeIntervalSince(story.announced)) <= Self.correctionWindow.inSeconds
    }

    /// True for a marked entry of a feed's first reading whose story was announced: its correction is old.
    private func isOfFirstReading(_ candidate: Candidate, _ story: KnownStory, _ known: Knowledge) -> Bool {
        record.baseline == nil && !known.isLater(candidate, than: story.announced)
    }

    /// True for a correction or withdrawal that was not announced before, and that no other feed has just made.
    private func isNews(_ candidate: Candidate, _ story: KnownStory, _ mark: EditorialMark) -> Bool {
        guard !story.isWithdrawn, story.showing != .never || story.unsent != nil, !candidate.hasContent(story.content)
        else { return false }
        guard mark.status == .correction, story.feed != record.id, let corrected = story.corrected else { return true }
        return abs(now.timeIntervalSince(corrected)) > SameStory.window.inSeconds
    }

    /// Returns the time of the next correction of a story: one an hour; a later correction replaces one that waits.
    private func pause(after story: KnownStory) -> Date? {
        guard let corrected = story.corrected else { return nil }
        if story.unsent != nil { return story.unsent?.notBefore }
        let end = corrected.addingTimeInterval(Self.updatePause.inSeconds)
        return end > now && end.timeIntervalSince(now) <= Self.updatePause.inSeconds ? end : nil
    }
}
