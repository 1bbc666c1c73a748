/// The rules of a list for a feed's entries.
package struct FeedRules: Sendable, Hashable {
    /// The list's and the feed's filters; an entry must pass all of them.
    package var filters: [KeywordFilter] = []
    /// True if an entry that changed after it was read is announced again.
    package var announcesUpdates = false
    /// True if an entry dated ahead is held until its date.
    package var holdsFuture = false
    /// The marks of entries that correct or withdraw others.
    package var marks = EditorialMarks()
    /// The time of day until which news found from midnight on is held.
    package var notBefore: HourOfDay?

    package init() {}
}

/// The words that mark corrections and retractions, at the ends of titles and among an entry's categories.
///
/// In the middle of a title they are part of the news, as in "troops are withdrawn".
package struct EditorialMarks: Sendable, Hashable {
    package var corrections: [Keyword] = []
    package var retractions: [Keyword] = []

    package init() {}

    package var isEmpty: Bool { corrections.isEmpty && retractions.isEmpty }
}
