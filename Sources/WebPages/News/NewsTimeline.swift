package import HubProtocol

/// The newest stories of a tag, newest first, each with the telling that prevails.
package struct NewsTimeline: Sendable, Equatable {
    /// The largest number of stories that are shown.
    package static let maximumStories = 50
    /// The largest number of withdrawn stories that are kept in addition.
    private static let maximumWithdrawn = 50
    /// The largest number of stories known to be replaced or withdrawn.
    private static let maximumEnded = 10_000

    /// A story in one language; in all languages if `voice` is `nil`.
    private struct Version: Hashable {
        let id: StoryID
        let voice: LanguageName?
    }

    private var tellings: [Telling] = []
    /// Places in the log where stories were replaced or withdrawn; their older tellings are no longer shown.
    private var ended: [Version: LogSequence] = [:]

    package init() {}

    /// True if older messages cannot add a story.
    package var isFull: Bool { tellings.count { !$0.isWithdrawal } >= Self.maximumStories }

    /// Adds messages that came after all others; newest first.
    package mutating func add(newer: [Telling]) { fold(newer + tellings) }

    /// Adds messages that are older than all present ones; newest first.
    package mutating func add(older: [Telling]) { fold(tellings + older) }

    /// Stories and withdrawals after a place in the log, newest first.
    package func tellings(after sequence: LogSequence) -> [Telling] { tellings.filter { $0.sequence > sequence } }

    /// Stories whose last telling is after a place in the log.
    func stories(after sequence: LogSequence) -> [Telling] {
        tellings.filter { !$0.isWithdrawal && $0.sequence > sequence }
    }

    func withdrawals(after sequence: LogSequence) -> [Telling] {
        tellings.filter { $0.isWithdrawal && $0.sequence > sequence }
    }

    /// Number of stories and withdrawals after a place in the log.
    package func count(after sequence: LogSequence) -> Int { tellings.count { $0.sequence > sequence } }

    /// The approximate size of the texts in memory, in bytes.
    package var bytes: Int { tellings.reduce(0) { $0 + $1.bytes } }

    /// Keeps the prevailing telling of each story; `candidates` are newest first.
    private mutating func fold(_ candidates: [Telling]) {
        let shown = prevailing(candidates)
        var kept: [Telling] = []
        var room = (stories: Self.maximumStories, withdrawals: Self.maximumWithdrawn)
        for var telling in candidates {
            guard let chosen = shown[telling.id], chosen.sequence == telling.sequence else { continue }
            if telling.isWithdrawal ? room.withdrawals > 0 : room.stories > 0 {
                telling = chosen
                kept.append(telling)
                if telling.isWithdrawal { room.withdrawals -= 1 } else { room.stories -= 1 }
            } else if telling.isWithdrawal {
                end(telling.id, by: telling)
            }
        }
        tellings = kept
    }

    /// Returns the telling of each story that is shown, with the time of the story's first telling and all categories
    /// that have the same version.
    ///
    /// `candidates` are newest first, so that a telling that ends others precedes them.
    private mutating func prevailing(_ candidates: [Telling]) -> [StoryID: Telling] {
        var best: [StoryID: Telling] = [:]
        for telling in candidates {
            if let known = best[telling.id] {
                var shown = isEnded(telling) ? known : telling.merged(with: known)
                shown.first = min(known.first, telling.first)
                best[telling.id] = shown
            } else if !isEnded(telling) {
                best[telling.id] = telling
            }
            for id in telling.replaces { end(id, by: telling) }
        }
        return best
    }

    private func isEnded(_ telling: Telling) -> Bool {
        let ends = [Version(id: telling.id, voice: nil), Version(id: telling.id, voice: telling.voice)]
        return ends.contains { ended[$0].map { $0 > telling.sequence } ?? false }
    }

    /// Ends a story's older tellings in the language of the telling that ends it.
    private mutating func end(_ id: StoryID, by telling: Telling) {
        let version = Version(id: id, voice: telling.voice)
        guard let known = ended[version] else {
            if ended.count < Self.maximumEnded { ended[version] = telling.sequence }
            return
        }
        ended[version] = max(known, telling.sequence)
    }
}
