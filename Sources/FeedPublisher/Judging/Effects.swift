internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// The changes that a document's entries make to announced stories, by the entries' positions among its identities.
struct Effects {
    /// Changes that are sent for this reason, regardless of filters and first readings.
    var changes: [Int: StoryChange] = [:]
    /// Changes of stories that end without a message.
    var closed: [StoryChange] = []
    /// Changes of entries that are news on their own and concern more than their own keys.
    var news: [Int: StoryChange] = [:]
    /// Reasons for entries that are not announced because of other entries.
    var silences: [Int: SilenceReason] = [:]
    /// Entries that replace an entry that passed the filter.
    var wanted: Set<Int> = []

    /// Records that an entry withdraws known stories; a story that was never shown ends without a message.
    mutating func withdraw(_ position: Int, _ change: StoryChange) {
        guard change.status == nil else {
            changes[position] = change
            return
        }
        closed.append(change)
        silences[position] = .nothingToWithdraw
    }
}

extension NewsJudge {
    /// Finds the entries that replace or withdraw announced stories or other entries of this document.
    func effects(_ silences: [Int: SilenceReason], _ state: SeenState) -> Effects {
        var effects = Effects()
        AlertChains(self, silences, state).settle(&effects)
        settleMarked(&effects, silences, state)
        return effects
    }

    /// Returns the change of an entry that is news on its own.
    func news(_ position: Int) -> StoryChange {
        var change = StoryChange(name: name(of: position), keys: ownKeys(of: position))
        change.language = voice.name
        change.content = contents[position]
        change.alert = lastAlert(position)
        return change
    }

    /// Returns the change that an entry makes to known stories.
    ///
    /// It applies to the entry's language. A withdrawal in the main language applies to all languages: what is wrong
    /// there is wrong in all of them.
    func change(_ status: MessageStatus, _ position: Int, of stories: [KnownStory]) -> StoryChange {
        let known = stories.sorted { ($0.announced, $0.name) < ($1.announced, $1.name) }
        let name = name(of: position)
        var change =
            status == .withdrawn && voice.language == nil
            ? StoryChange(withdrawing: known, in: known.flatMap(\.others), else: name)
            : StoryChange(status, of: known, by: voice, else: name)
        change.keys = ownKeys(of: position)
        change.content = contents[position]
        change.alert = lastAlert(position)
        return change
    }

    private func lastAlert(_ position: Int) -> LastAlert? {
        alertKey(of: position).map { LastAlert(key: $0, sent: sent(position)) }
    }

    /// Returns the time from which a message may be sent, after the list's hour and the pause between corrections of
    /// one story.
    ///
    /// Corrections of shown messages do not wait for the hour, and neither do urgent alerts.
    func release(_ position: Int, _ change: StoryChange) -> Date? {
        if change.status == .withdrawn || !change.replaces.isEmpty { return change.notBefore }
        return feed.entries[identities[position].index].alert?.isUrgent == true ? nil : holdUntil
    }
}
