package import HubProtocol

/// The newest stories of a tag, newest first, each with the version that prevails.
package struct NewsTimeline: Sendable, Equatable {
    /// The largest number of stories that are shown.
    package static let maximumStories = 50
    /// The largest number of withdrawn stories that are kept in addition.
    private static let maximumWithdrawn = 50
    /// The largest number of stories known to be replaced or withdrawn.
    private static let maximumEnded = 10_000

    /// A story in one language; in all languages if `effectiveLanguage` is `nil`.
    private struct LocalizedStory: Hashable {
        let id: StoryID
        let effectiveLanguage: LanguageName?
    }

    private var versions: [StoryVersion] = []
    /// Places in the log where stories were replaced or withdrawn; their older versions are no longer shown.
    private var ended: [LocalizedStory: LogSequence] = [:]

    package init() {}

    /// True if older messages cannot add a story.
    package var isFull: Bool { versions.count { !$0.isWithdrawal } >= Self.maximumStories }

    /// Adds messages that came after all others; newest first.
    package mutating func add(newer: [StoryVersion]) { fold(newer + versions) }

    /// Adds messages that are older than all present ones; newest first.
    package mutating func add(older: [StoryVersion]) { fold(versions + older) }

    /// Stories and withdrawals after a place in the log, newest first.
    package func versions(after sequence: LogSequence) -> [StoryVersion] { versions.filter { $0.sequence > sequence } }

    /// Stories whose last version is after a place in the log.
    func stories(after sequence: LogSequence) -> [StoryVersion] {
        versions.filter { !$0.isWithdrawal && $0.sequence > sequence }
    }

    func withdrawals(after sequence: LogSequence) -> [StoryVersion] {
        versions.filter { $0.isWithdrawal && $0.sequence > sequence }
    }

    /// Number of stories and withdrawals after a place in the log.
    package func count(after sequence: LogSequence) -> Int { versions.count { $0.sequence > sequence } }

    /// The approximate size of the texts in memory, in bytes.
    package var bytes: Int { versions.reduce(0) { $0 + $1.bytes } }

    /// Keeps the prevailing version of each story; `candidates` are newest first.
    private mutating func fold(_ candidates: [StoryVersion]) {
        let shown = prevailing(candidates)
        var kept: [StoryVersion] = []
        var room = (stories: Self.maximumStories, withdrawals: Self.maximumWithdrawn)
        for var storyVersion in candidates {
            guard let chosen = shown[storyVersion.id], chosen.sequence == storyVersion.sequence else { continue }
            if storyVersion.isWithdrawal ? room.withdrawals > 0 : room.stories > 0 {
                storyVersion = chosen
                kept.append(storyVersion)
                if storyVersion.isWithdrawal { room.withdrawals -= 1 } else { room.stories -= 1 }
            } else if storyVersion.isWithdrawal {
                end(storyVersion.id, by: storyVersion)
            }
        }
        versions = kept
    }

    /// Returns the version of each story that is shown, with the time of the story's first version and all categories
    /// that have the same version.
    ///
    /// `candidates` are newest first, so that a version that ends others precedes them.
    private mutating func prevailing(_ candidates: [StoryVersion]) -> [StoryID: StoryVersion] {
        var best: [StoryID: StoryVersion] = [:]
        for storyVersion in candidates {
            if let known = best[storyVersion.id] {
                var shown = isEnded(storyVersion) ? known : storyVersion.merged(with: known)
                shown.first = min(known.first, storyVersion.first)
                shown.note(former: storyVersion)
                best[storyVersion.id] = shown
            } else if !isEnded(storyVersion) {
                best[storyVersion.id] = storyVersion
            }
            for id in storyVersion.replaces { end(id, by: storyVersion) }
        }
        return best
    }

    private func isEnded(_ storyVersion: StoryVersion) -> Bool {
        let ends = [
            LocalizedStory(id: storyVersion.id, effectiveLanguage: nil),
            LocalizedStory(id: storyVersion.id, effectiveLanguage: storyVersion.effectiveLanguage),
        ]
        return ends.contains { ended[$0].map { $0 > storyVersion.sequence } ?? false }
    }

    /// Ends a story's older versions in the language of the version that ends it.
    private mutating func end(_ id: StoryID, by storyVersion: StoryVersion) {
        let story = LocalizedStory(id: id, effectiveLanguage: storyVersion.effectiveLanguage)
        guard let known = ended[story] else {
            if ended.count < Self.maximumEnded { ended[story] = storyVersion.sequence }
            return
        }
        ended[story] = max(known, storyVersion.sequence)
    }
}
