internal import Feeds

extension PublishPass {
    /// Publishes the new entries of a document that the feed's hub delivered.
    ///
    /// The document may contain new entries only, and may arrive late or twice. It therefore says nothing about missing
    /// entries, the feed's polling pace or its validators. If it looks like a reset of the feed, a poll must read the
    /// whole document.
    ///
    /// The topic is the base of relative addresses. Nothing else may use the feed during the call.
    ///
    /// - Returns: The number of entries announced; `nil` if the feed must be polled instead.
    /// - Throws: ``SQLiteFiles/DatabaseFileError`` if nothing can be written.
    func take(
        delivered body: [UInt8],
        contentType: String?,
        topic: String,
        _ turn: Turn
    ) throws -> Int? {
        let before = turn.record
        guard before.baseline != nil, before.retired == nil, before.pausedAt == nil else { return nil }
        // A poll reads such a feed after all others.
        guard try store.interruptedReadings()[before.id] == nil else { return nil }
        let document = FetchedDocument(body: body, contentType: contentType, answer: FetchResult.Answer(url: topic))
        _ = try begin(before.id, document)
        return try reading(before.id) {
            defer { try? store.endReading(before.id) }
            guard var feed = try? environment.read(document), feed.isComplete else { return nil }
            feed.title = feed.title ?? before.title
            return try publish(feed, turn, as: nil)?.reduce(0) { $0 + $1.announcements.count }
        }
    }
}
