internal import FeedLists
internal import HostSystem

/// Protection against documents that crash the program, or get it killed, while it reads them.
extension PublishPass {
    /// Maximum number of feeds named in one line.
    private static let namedFeeds = 3

    /// Finds the feeds that the last run was reading when it ended, and reports them once.
    ///
    /// Documents that certainly crashed the program are reported when they are skipped.
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
        reporter.say(
            .notice,
            "the last run was ended while it read feed \(names.prefix(Self.namedFeeds).joined(separator: ", "))"
                + "\(further); such feeds are polled last now"
        )
    }

    /// Records that a document is being read, in case the reading ends the program.
    ///
    /// - Returns: The reason to skip the document; `nil` if it is to be read.
    func begin(_ feed: Int64, _ document: FetchedDocument) throws -> InterruptedReading? {
        try store.beginReading(
            feed,
            hash: document.hash,
            program: environment.program,
            isForced: options.force,
            now: environment.now()
        )
    }

    /// Reads and publishes a document whose reading was begun; what it records ends the reading.
    func reading<Value>(_ feed: Int64, _ work: () throws -> Value) throws -> Value {
        do {
            return try TrapNote.naming(feed, work)
        } catch {
            // The program still runs, so the document did not end it.
            try? store.endReading(feed)
            throw error
        }
    }
}
