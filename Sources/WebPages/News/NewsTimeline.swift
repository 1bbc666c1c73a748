package import HubProtocol

/// The newest stories of a tag: the last telling of each, newest first.
package struct NewsTimeline: Sendable, Equatable {
    /// The largest number of stories that are shown.
    package static let maximumStories = 50
    /// The largest number of withdrawn stories that are kept in addition.
    private static let maximumWithdrawn = 50
    /// The largest number of stories known to be replaced or withdrawn.
    private static let maximumEnded = 10_000

    private var tellings: [Telling] = []
    /// Stories whose older tellings are no longer shown.
    private var ended: Set<StoryID> = []

    package init() {}

    /// True if older messages cannot add a story.
    package var isFull: Bool { tellings.count { !$0.isWithdrawal } >= Self.maximumStories }

    /// Adds messages that are newer than all present ones; newest first.
    package mutating func add(newer: [Telling]) {
        for telling in newer { ended.remove(telling.id) }
        fold(newer + tellings)
    }

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

    /// The approximate number of bytes that the texts take in memory.
    package var bytes: Int {
        tellings.reduce(0) { sum, telling in
            let text = telling.text
            let parts = [text.title, text.text, text.link, text.image, text.author, text.category]
            return parts.reduce(sum + 200) { $0 + ($1?.utf8.count ?? 0) }
        }
    }

    /// Keeps the first telling of each story in the list, which is the newest.
    private mutating func fold(_ candidates: [Telling]) {
        var (kept, places): ([Telling], [StoryID: Int]) = ([], [:])
        var room = (stories: Self.maximumStories, withdrawals: Self.maximumWithdrawn)
        for telling in candidates {
            if let place = places[telling.id] {
                kept[place].first = min(kept[place].first, telling.first)
            } else if !ended.contains(telling.id) {
                let hasRoom = telling.isWithdrawal ? room.withdrawals > 0 : room.stories > 0
                if hasRoom {
                    places[telling.id] = kept.count
                    kept.append(telling)
                    if telling.isWithdrawal { room.withdrawals -= 1 } else { room.stories -= 1 }
                } else if telling.isWithdrawal {
                    end(telling.id)
                }
            }
            for id in telling.replaces where places[id] == nil { end(id) }
        }
        tellings = kept
    }

    private mutating func end(_ id: StoryID) {
        if ended.count < Self.maximumEnded { ended.insert(id) }
    }
}
