import HubProtocol
import HubRouting
import HubStore
import WebPages

/// The news of a tag in the part of the log that was read for it.
struct TagNews: Sendable {
    var timeline = NewsTimeline()
    /// The highest sequence read.
    var through = LogSequence.start
    /// The sequence before the lowest one read.
    var floor = LogSequence.start

    /// True if the log, which begins after `dropped` and whose last message is `last`, may hold more news.
    func lacks(_ last: LogSequence, _ dropped: LogSequence) -> Bool {
        through < last || !timeline.isFull && floor > dropped
    }
}

/// Reads the news of a tag from a hub's log.
struct TagReader: Sendable {
    /// Number of messages in one read; other work is done between two reads.
    private static let page = 500

    let tag: Tag
    /// The readers' language; `nil` for all messages.
    let language: LanguageName?
    let hub: Hub
    /// Distinguishes the hub from all others (``StoryID``).
    let scope: String

    /// Adds messages since the last read, then older ones, until the timeline is full.
    ///
    /// - Parameters:
    ///   - known: The result of earlier reads.
    ///   - last: The last message of the log.
    ///   - dropped: The sequence before the beginning of the log.
    ///   - limit: Maximum number of messages to read.
    /// - Returns: The updated news.
    /// - Throws: A `DatabaseError`.
    func read(
        on known: TagNews,
        to last: LogSequence,
        after dropped: LogSequence,
        limit: Int
    ) async throws -> TagNews {
        var (news, room) = (known, limit)
        if news.through < last {
            var newer = NewsTimeline()
            let isFirst = news.through == .start
            let run = try await scan(&newer, after: isFirst ? dropped : news.through, through: last, &room)
            if isFirst || !run.isComplete {
                // The log was not read before, or the part in between is too large: start at the end.
                news.timeline = newer
                news.floor = run.floor
            } else {
                news.timeline.add(newer: run.versions)
            }
            news.through = last
        }
        guard news.lacks(last, dropped), room > 0 else { return news }
        news.floor = try await scan(&news.timeline, after: dropped, through: news.floor, &room).floor
        return news
    }

    private struct Run {
        var versions: [StoryVersion] = []
        /// True if the range was read to its beginning.
        var isComplete = false
        var floor: LogSequence
    }

    /// Reads a range of the log backwards until it ends, the timeline is full or the limit is reached.
    private func scan(
        _ timeline: inout NewsTimeline,
        after: LogSequence,
        through: LogSequence,
        _ room: inout Int
    ) async throws -> Run {
        var run = Run(floor: through)
        let reserved = hub.configuration.reservedTags
        while room > 0, !timeline.isFull, run.floor > after {
            let limit = min(Self.page, room)
            let found = try await hub.store.scanMessages(
                hub: hub.record.id,
                after: after,
                through: run.floor,
                limit: limit
            ) { [tag] tags in PublicAudience.includes(tag, tags: tags, reserved: reserved) }
            room -= found.count
            let versions = found.messages.compactMap(storyVersion)
            timeline.add(older: versions)
            run.versions += versions
            run.floor = found.count < limit ? after : found.lowest?.previous ?? after
        }
        run.isComplete = run.floor <= after
        return run
    }

    /// `nil` for a message that is not public, or that agents would not get.
    private func storyVersion(_ message: AcceptedMessage) -> StoryVersion? {
        let record = message.logged.record
        guard record.format == .template || record.format == .stream,
            // A message whose targets cannot be read is not public, either.
            case .success(nil) = Result(catching: { try record.targets }), let id = try? record.id
        else { return nil }
        return StoryVersion(
            sequence: message.logged.sequence,
            at: message.at,
            message: id.text,
            body: record.body,
            scope: scope,
            // Devices get a native message unchanged, whatever language their template names.
            language: record.format == .stream ? nil : language
        )
    }
}
