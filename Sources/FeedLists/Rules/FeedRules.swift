/// What a list wants of a feed's entries.
package struct FeedRules: Sendable, Hashable {
    /// An entry must pass all of them: the list's and the feed's own.
    var filters: [KeywordFilter] = []
    /// Whether an entry that changed after it was read is announced once more.
    var announcesUpdates = false
    /// Whether an entry dated more than a day ahead waits for its date.
    var holdsFuture = false
    /// Which entries correct or take back others.
    var marks = EditorialMarks()
    /// Until when what is found from midnight on waits.
    var notBefore: HourOfDay?

    package init() {}
}
