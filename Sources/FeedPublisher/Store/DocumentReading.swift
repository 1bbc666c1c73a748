internal import Feeds

/// A document as the store records it: the keys to look up, and the decision to be made before they are marked.
///
/// Most entries of most documents are known by their identities; only of the others more is looked up.
struct DocumentReading: Sendable {
    let category: String
    /// The ``FeedRecord/completeReading`` before this document, to tell what vanished.
    let lastCompleteReading: Int64
    let entries: [EntryMark]
    /// Further keys of entries with these identities.
    let furtherKeys: @Sendable (_ unknown: Set<EntryKey>) -> [SeenKey]
    /// Keys by which stories are known across the feeds of a category.
    let stories: @Sendable (_ unknown: Set<EntryKey>, _ edited: Set<EntryKey>) -> [EntryKey]
    /// Whether a story may have been told in several languages.
    var hasLanguages = false
    var judge: @Sendable (SeenState) -> Verdict
    /// Whether it may hold new entries only, so that what is not in it says nothing.
    var isPartial = false
}

/// What is to be written because of a document.
struct Verdict: Sendable {
    struct Story: Sendable {
        let message: OutboxMessage
        let change: StoryChange
    }

    /// Keys to mark as seen.
    var marks: [SeenKey] = []
    var stories: [Story] = []
    /// Stories that are over without a word, because nobody was shown anything of them.
    var closed: [StoryChange] = []
    /// Rows that name one feed or speak one language more, by number; only such as were not sent yet are changed.
    var amended: [Int64: OutboxMessage] = [:]
    /// Rows that tell a story in one language more, and what is to be known of it there.
    var translated: [(row: Int64, change: StoryChange)] = []
    var judgement: Judgement
}
