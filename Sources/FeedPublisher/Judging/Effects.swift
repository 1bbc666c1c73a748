internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// The changes that a document's entries make to announced stories, by the entries' places.
struct Effects {
    /// Changes that are sent for this reason, regardless of filters and first readings.
    var changes: [Int: StoryChange] = [:]
    /// Changes of stories that end without a message.
    var closed: [StoryChange] = []
    /// Changes of entries that are news on their own and concern more than their own keys.
    var news: [Int: StoryChange] = [:]
    /// Reasons for entries that are not announced because of other entries.
    var skipped: [Int: SkipReason] = [:]
    /// Entries that replace an entry that passed the filter.
    var wanted: Set<Int> = []

    /// Records that an entry withdraws known stories; a story that was never shown ends without a message.
    mutating func withdraw(_ candidate: Candidate, _ change: StoryChange) {
        guard change.status == nil else {
            changes[candidate.place] = change
            return
        }
        closed.append(change)
        skipped[candidate.place] = .nothingToWithdraw
    }
}

extension NewsJudge {
    /// Finds the entries that replace or withdraw announced stories or other entries of this document.
    func effects(_ candidates: [Candidate], _ known: Knowledge) -> Effects {
        var effects = Effects()
        AlertChains(self, candidates, known).settle(&effects)
        settleMarked(candidates, known, &effects)
        return effects
    }

    /// Returns the change of an entry that is news on its own.
    func news(_ candidate: Candidate) -> StoryChange {
        var change = StoryChange(name: name(of: candidate), keys: candidate.keys.all)
        change.language = feedLanguage.name
        describe(candidate, in: &change)
        return change
    }

    /// Returns the change that an entry makes to known stories.
    ///
    /// It applies to the entry's language. A withdrawal in the main language applies to all languages: what is wrong
    /// there is wrong in all of them.
    func change(_ status: MessageStatus, _ candidate: Candidate, of stories: [KnownStory]) -> StoryChange {
        let known = stories.sorted { ($0.announced, $0.name) < ($1.announced, $1.name) }
        let name = name(of: candidate)
        var change =
            status == .withdrawn && feedLanguage.language == nil
            ? StoryChange(withdrawing: known, in: known.flatMap(\.others), else: name)
            : StoryChange(status, of: known, by: feedLanguage, else: name)
        change.keys = candidate.keys.all
        describe(candidate, in: &change)
        return change
    }

    /// Notes what later entries of the story are compared with.
    private func describe(_ candidate: Candidate, in change: inout StoryChange) {
        change.titles = candidate.keys.titles
        change.content = candidate.content
        change.text = candidate.keys.text
        change.published = candidate.entry.date
        change.alert = lastAlert(candidate)
    }

    private func lastAlert(_ candidate: Candidate) -> LastAlert? {
        candidate.keys.alert.map { LastAlert(key: $0, sent: candidate.alert?.sent ?? now) }
    }

    /// Returns the time from which a message may be sent, after the list's hour and the pause between corrections of
    /// one story.
    ///
    /// Corrections of shown messages do not wait for the hour, and neither do urgent alerts.
    func release(_ candidate: Candidate, _ change: StoryChange) -> Date? {
        if change.status == .withdrawn || !change.replaces.isEmpty { return change.notBefore }
        return candidate.alert?.isUrgent == true ? nil : holdUntil
    }
}
