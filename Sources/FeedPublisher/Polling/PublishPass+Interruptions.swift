internal import FeedLists

/// What earlier runs left half done.
extension PublishPass {
    /// Feeds named in one line.
    private static let namedFeeds = 3

    /// Finds the feeds that the last run was reading when it ended, and says so once.
    ///
    /// What is certain is reported when the document is skipped.
    func settleReadings() throws {
        let trapped = options.trappedFeed
        let interrupted = Set(try store.settleReadings(trapped: trapped)).filter { $0 != trapped }
        guard !interrupted.isEmpty, preview == nil else { return }
        let records = try store.feeds()
        let names = lists.lists.flatMap(\.feeds).map(\.address).compactMap { address in
            records[address.text].flatMap { interrupted.contains($0.id) ? "'\(address.publicText)'" : nil }
        }
        guard !names.isEmpty else { return }
        let further = names.count > Self.namedFeeds ? " and \(names.count - Self.namedFeeds) others" : ""
        reporter.line(
            PublishLine(
                .notice,
                "the last run was ended while it read feed \(names.prefix(Self.namedFeeds).joined(separator: ", "))"
                    + "\(further); what it did not finish is done now, after all else"
            )
        )
    }
}
