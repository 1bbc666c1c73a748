/// The rules of a list for a feed's entries.
package struct FeedRules: Sendable, Hashable {
    /// An entry must pass all of them: the list's and the feed's own.
    package var filters: [KeywordFilter] = []
    /// True if an entry that changed after it was read is announced once more.
    package var announcesUpdates = false
    /// True if an entry dated more than a day ahead waits for its date.
    package var holdsFuture = false
    /// Which entries correct or take back others.
    package var marks = EditorialMarks()
    /// The hour until which news found from midnight on waits.
    package var notBefore: HourOfDay?

    package init() {}
}

/// The words by which a list knows corrections and retractions, at the ends of titles and among an entry's categories.
///
/// In the middle of a title they are part of the news: troops are withdrawn.
package struct EditorialMarks: Sendable, Hashable {
    package var corrections: [Keyword] = []
    package var retractions: [Keyword] = []

    package init() {}

    package var isEmpty: Bool { corrections.isEmpty && retractions.isEmpty }
}
