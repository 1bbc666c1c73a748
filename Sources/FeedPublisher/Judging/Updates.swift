internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// Known entries that have changed.
extension NewsJudge {
    /// Time between two announced updates of one feed: some texts change at each fetch.
    static let updatePause: Duration = .seconds(3_600)

    /// Maximum number of updates announced at a time; further ones follow after ``updatePause``.
    static let maximumUpdates = 5

    /// Notes which known entries have changed, and announces the newest of them if the list asks for updates and none
    /// was announced recently.
    ///
    /// The others wait: their former content stays in the store, so that the next document shows the change again;
    /// it is requested even if it has not changed.
    func announceUpdates(_ verdicts: inout [Verdict], _ known: Knowledge) {
        let edited = verdicts.indices.filter { index in
            if case .silent(.seenBefore(.entry)) = verdicts[index].decision { true } else { false }
        }
        // Stories that this document corrects or withdraws get no further message.
        let effects = known.document.effects
        let settled = Set((effects.changes.values + effects.closed).flatMap(\.merges))
        var wanted: [Int: Int] = [:]
        for index in edited {
            let candidate = verdicts[index].candidate
            // A story that another feed announced is updated by that feed only.
            let story = known.ownStory(candidate)
            let isOwn = story.map { $0.feed == record.id && !$0.isWithdrawn && !settled.contains($0.name) } ?? true
            let isWanted = rules.announcesUpdates && record.baseline != nil && isOwn
            if isWanted, known.skipReason(for: candidate) == nil { wanted[candidate.place] = index }
            verdicts[index].decision = .silent(wanted[candidate.place] == nil ? .edited : .updateLimit)
        }
        guard record.lastUpdate.map({ abs(now.timeIntervalSince($0)) >= Self.updatePause.inSeconds }) ?? true else {
            return
        }
        let newest = dates.inOrder(wanted.values.map { verdicts[$0].candidate }).suffix(Self.maximumUpdates)
        for candidate in newest {
            guard let index = wanted[candidate.place] else { continue }
            verdicts[index].decision = .announced(updated(candidate, known))
            verdicts[index].isUpdate = true
        }
    }

    /// Returns the change that an announced update of an edited entry makes to its story.
    private func updated(_ candidate: Candidate, _ known: Knowledge) -> StoryChange {
        let story = known.ownStory(candidate)
        var change = change(.update, candidate, of: [story].compactMap(\.self))
        // The entry was recorded without a message, but people may know it from elsewhere.
        if story == nil { change.status = .update }
        return change
    }
}
