internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// The changes that entries of a document make to announced stories, by their positions among its identities.
struct Effects {
    /// The changes of entries that go out for this reason, whatever filters and first readings would say.
    var changes: [Int: StoryChange] = [:]
    /// The changes of stories that end without a message.
    var closed: [StoryChange] = []
    /// The changes of entries that are news on their own, where that is more than their own keys tell.
    var news: [Int: StoryChange] = [:]
    /// The reasons of entries that are silent because of others.
    var silences: [Int: SilenceReason] = [:]
    /// Entries that take the place of one that a filter had let pass.
    var wanted: Set<Int> = []

    /// Settles an entry that withdraws known stories: nobody is told of the end of what nobody was shown.
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
    /// Looks for entries that replace or withdraw what was announced, or what this very document brings.
    func effects(_ silences: [Int: SilenceReason], _ state: SeenState) -> Effects {
        var effects = Effects()
        AlertChains(self, silences, state).settle(&effects)
        settleMarked(&effects, silences, state)
        return effects
    }

    /// The change that an entry makes which is news by itself.
    func news(_ position: Int) -> StoryChange {
        var change = StoryChange(name: name(of: position), keys: ownKeys(of: position))
        change.language = voice.name
        change.content = contents[position]
        change.alert = lastAlert(position)
        return change
    }

    /// The change that an entry makes of known stories.
    ///
    /// It counts in the entry's language, but for a withdrawal in the main one: what is wrong there is wrong in all.
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

    /// The time from which a message may leave, after the list's hour and the pause between corrections of one story.
    ///
    /// What puts right something that was shown does not wait for the hour, nor does an alert to be acted upon.
    func release(_ position: Int, _ change: StoryChange) -> Date? {
        if change.status == .withdrawn || !change.replaces.isEmpty { return change.notBefore }
        return feed.entries[identities[position].index].alert?.isUrgent == true ? nil : holdUntil
    }
}
