internal import Feeds

extension PublishPass {
    /// Publishes what is new in a document that the feed's hub delivered.
    ///
    /// It may hold new entries only, and come late or twice. So it says nothing of what has vanished, of how often the
    /// feed wants to be asked for, or of its validators; and what is more than a few new entries of a feed that is well
    /// known is left to a poll, which sees the whole document.
    ///
    /// The topic is the base of relative addresses; nobody else may be at work on the feed.
    ///
    /// - Returns: The number of entries announced; `nil` when the feed has to be polled instead.
    /// - Throws: ``PublisherStoreError`` when nothing can be written.
    func take(
        delivered body: [UInt8],
        contentType: String?,
        topic: String,
        _ turn: Turn
    ) throws -> Int? {
        let before = turn.record
        guard before.baseline != nil, before.retired == nil else { return nil }
        // A poll reads such a feed after all others.
        guard try store.interruptedReading(before.id) == nil else { return nil }
        let document = FetchedDocument(body: body, contentType: contentType, answer: FetchResult.Answer(url: topic))
        _ = try begin(before.id, document)
        return try reading(before.id) {
            defer { try? store.endReading(before.id) }
            guard var feed = try? environment.read(document), feed.isComplete else { return nil }
            feed.title = feed.title ?? before.title
            return try publish(feed, turn, as: nil)?.announcements.count
        }
    }
}
