package import Feeds

/// A document as the store records it: the keys to look up and mark, and the decision to be made in between.
package struct DocumentReading: Sendable {
    package let category: String
    /// The ``FeedRecord/completeReading`` before this document, to tell what vanished.
    package let lastCompleteReading: Int64
    package let keys: [SeenKey]
    /// Keys by which stories are known across the feeds of a category.
    package let links: [EntryKey]
    package let judge: @Sendable (SeenState) -> Verdict
}

/// What is to be written because of a document.
package struct Verdict: Sendable {
    package var messages: [OutboxMessage] = []
    /// Links to remember as announced in the category.
    package var announcedLinks: [EntryKey] = []
    package var judgement: Judgement
}
