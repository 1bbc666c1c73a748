package import FeedLists
package import FoundationEssentials
package import HubProtocol

/// The health of a listed feed, for people.
package struct FeedHealth: Sendable {
    package enum State: String, Sendable {
        /// Polled and read.
        case well
        /// At its last turn it could not be read, or not completely.
        case failing
        /// It reported that it is gone permanently, and is not polled again.
        case gone
        /// Not polled yet.
        case new
        /// An operator has paused it.
        case paused
    }

    /// A pause before the next turn that a failure or the host caused.
    package struct Wait: Sendable, Encodable {
        package let until: Date
        package let reason: String
    }

    package let category: String
    package let address: FeedAddress
    package let title: String?
    /// The language; `nil` if its list names none.
    package let language: LanguageName?
    package let format: String?
    package let state: State
    package let lastSuccess: Date?
    /// The time of the next turn; `nil` for the next pass, or never if it is gone.
    package let nextDue: Date?
    /// `nil` if the feed is only waiting for its interval to pass.
    package let wait: Wait?
    /// Number of consecutive failures.
    package let failures: Int
    package let failingSince: Date?
    /// The latest credible date of an entry.
    let newestEntry: Date?
    /// Its last polls, of which the last one was at ``polledAt``.
    let polls: FeedPolls
    let polledAt: Date?
    package let pausedAt: Date?
    /// The failure, as reported when it began.
    package let problem: String?
    package let hint: PublishHint?
    /// The state of its hub; `nil` if none is known.
    package let push: PushHealth?
    /// The texts by which its records may be stored, the list's own first.
    let recordURLs: [String]

    init(
        _ list: FeedList,
        _ source: FeedSource,
        _ record: FeedRecord?,
        url: String,
        push: PushHealth?,
        hostWait: HostWait?,
        now: Date
    ) {
        self.push = push
        recordURLs = [FeedRecord.url(url, of: list.category.folded), url]
        category = list.category.text
        address = source.address
        title = source.title ?? record?.title
        language = source.language ?? list.localization.main
        format = record?.format
        lastSuccess = record?.lastSuccess
        failures = record?.failures ?? 0
        failingSince = record?.failingSince
        newestEntry = record?.newestEntry
        polls = record?.polls ?? FeedPolls()
        (polledAt, pausedAt) = (record?.polledAt, record?.pausedAt)
        let problem = record?.recoveredAt == nil ? record?.problem : nil
        self.problem = problem?.line
        hint = problem?.hint
        guard let record, record.retired == nil, record.pausedAt == nil else {
            state = record == nil ? .new : pausedAt == nil ? .gone : .paused
            (nextDue, wait) = (nil, nil)
            return
        }
        state = record.isFailing ? .failing : record.lastSuccess == nil ? .new : .well
        let ownDue = record.due.flatMap { $0.hasCome(at: now) ? nil : $0.at }
        nextDue = [ownDue, hostWait?.due.at].compactMap(\.self).max()
        wait = nextDue.flatMap { date in
            if let hostWait, hostWait.due.at == date, ownDue != date || record.failures == 0 {
                let reason = hostWait.reason.map { "'\(hostWait.host)' \($0)" }
                return Wait(until: date, reason: reason ?? "'\(hostWait.host)' asked for a pause")
            }
            return record.failures > 0 ? record.problem.map { Wait(until: date, reason: $0.line) } : nil
        }
    }
}

extension FeedLists {
    /// Returns the health of all listed feeds, in the lists' order; reads the store and changes nothing.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError``.
    package func health(storePath path: String, now: Date = Date()) throws -> [FeedHealth] {
        let store = try PublisherStore.scratchCopy(of: path)
        defer { try? store.close() }
        return try health(of: store, now: now)
    }

    func health(of store: PublisherStore, now: Date) throws -> [FeedHealth] {
        let records = try store.feeds()
        let waits = try store.hostWaits()
        let pushes = try store.pushHealth(at: now)
        // A feed in several lists is fetched by the address in the first one.
        let urls = Dictionary(feeds.map { ($0.source.address.comparable, $0.source.address.text) }) { first, _ in first
        }
        return lists.flatMap { list in
            list.feeds.map { source in
                let url = urls[source.address.comparable] ?? source.address.text
                return FeedHealth(
                    list,
                    source,
                    records[url],
                    url: url,
                    push: pushes[url],
                    hostWait: waits.latest(of: records[url]?.hosts(source) ?? [], at: now),
                    now: now
                )
            }
        }
    }
}
