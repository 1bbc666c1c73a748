internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol
internal import Logging
internal import Signals

extension PublishPass {
    /// Maximum number of feeds polled at the same time; one at a time for each public host.
    private static let concurrentFeeds = 16
    /// Maximum number of feeds of a private host polled at the same time, and number of feeds for each at the start.
    package static let concurrentLocalFeeds = 8
    /// Time after which a private host's next feed no longer waits for a slow one.
    static let localPatience: Duration = .milliseconds(250)
    /// Pause between two requests to one public host.
    private static let hostPause: Duration = .seconds(1)
    /// Time after which no further feed is polled; the next pass, for which all feeds wait, polls the rest.
    static let pollingBudget: Duration = .seconds(240)
    /// Time for which news waits for other feeds that may have the same story, but not for slow hosts.
    static let sendingInterval: Duration = .seconds(15)

    /// A list that judges the entries of a feed.
    struct Judge: Sendable {
        let list: FeedList
        let source: FeedSource
        /// The number of the record with the entries that the list knows.
        let feed: Int64

        /// Returns that record; `own` is the feed's, of which new records are copies.
        func record(_ own: FeedRecord, in records: [String: FeedRecord]) -> FeedRecord {
            feed == own.id ? own : records[FeedRecord.url(own.url, of: list.category.folded)] ?? own
        }
    }

    /// A feed that is due; a class, since thousands of them move from one array to the next.
    final class Turn: Sendable {
        let feed: ListedFeed
        /// The lists that judge its entries.
        let judges: [Judge]
        let record: FeedRecord
        /// The hosts to be requested, and those known to reply; empty for a file.
        let hosts: Set<String>
        /// Number of consecutive runs of the program that ended while they read its documents.
        let deaths: Int
        /// True if the feed is not due, and only its held entries are.
        let isRelease: Bool

        /// The feed as it is fetched.
        var source: FeedSource { feed.source }

        init(
            _ feed: ListedFeed,
            _ judges: [Judge],
            _ record: FeedRecord,
            hosts: Set<String> = [],
            deaths: Int = 0,
            isRelease: Bool = false
        ) {
            self.feed = feed
            self.judges = judges
            self.record = record
            self.hosts = hosts
            self.deaths = deaths
            self.isRelease = isRelease
        }

        /// Returns how many turns the feed has missed: 0 up to one of its intervals, 1 up to three, 2 up to seven and
        /// so on.
        ///
        /// Feeds that a pass left over are therefore first in one of the next passes, and all others keep the order of
        /// the lists.
        func missedTurns(at now: Date) -> Int {
            // A feed that was never polled comes first; a poll makes it due later.
            guard let due = record.due else { return .max }
            let interval = (source.interval ?? .standard).duration.inSeconds
            return (1 + max(0, now.timeIntervalSince(due.at)) / interval).exponent
        }
    }

    private enum Event: Sendable {
        /// One feed of a queue was polled or skipped.
        case polled(FeedPoll.Outcome?, queue: Int)
        /// A feed of a private host has waited for another one.
        case waited(queue: Int, sawFinished: Int)
        case sendingIsDue
        case budgetIsSpent
    }

    /// Polls the hosts concurrently, so that none waits for a slow one, and sends messages in between.
    func poll(_ hosts: [[Turn]], _ course: inout Course) async throws {
        let quiet = QuietHosts()
        let queues = queues(of: hosts.map { $0.filter { $0.deaths == 0 } }.filter { !$0.isEmpty }, at: course.start)
        try await poll(queues, quiet, &course)
        try await pollSuspects(hosts.joined().filter { $0.deaths > 0 }, quiet, &course)
    }

    /// Polls the feeds whose documents may end the program, one by one after all others were published.
    ///
    /// If one does, the other feeds have lost nothing. Feeds that ended it least often come first.
    private func pollSuspects(_ suspects: [Turn], _ quiet: QuietHosts, _ course: inout Course) async throws {
        guard !suspects.isEmpty, !Task.isCancelled else { return }
        if sendsMeanwhile { try await send(&course, isLast: false) }
        for turn in suspects.sorted(by: { $0.deaths < $1.deaths }) {
            if !turn.source.isLocal { try? await environment.sleep(Self.hostPause) }
            guard !Task.isCancelled else { return }
            try await poll([HostQueue([turn])], quiet, &course)
        }
    }

    private var sendsMeanwhile: Bool { watchContext == nil && preview == nil }

    private func poll(_ queues: [HostQueue<Turn>], _ quiet: QuietHosts, _ course: inout Course) async throws {
        let start = course.start
        var queues = queues
        // Each queue is here once while it can begin a turn.
        var ready = Array(queues.indices)[...]
        var running = 0
        var isSpent = false
        try await withThrowingTaskGroup(of: Event.self) { group in
            func list(_ queue: Int) {
                if queues[queue].canBegin, !ready.contains(queue) { ready.append(queue) }
                guard let sawFinished = queues[queue].beginWatch() else { return }
                group.addTask { await after(Self.localPatience, .waited(queue: queue, sawFinished: sawFinished)) }
            }
            func fill() {
                while !isSpent, running < Self.concurrentFeeds, let queue = ready.popFirst() {
                    guard let (turn, isFirst) = queues[queue].begin() else { continue }
                    running += 1
                    group.addTask {
                        .polled(try await poll(turn, isFirst: isFirst, start, quiet), queue: queue)
                    }
                    list(queue)
                }
            }
            group.addTask { await after(Self.pollingBudget, .budgetIsSpent) }
            if sendsMeanwhile { group.addTask { await after(Self.sendingInterval, .sendingIsDue) } }
            fill()
            while running > 0, let event = try await group.next() {
                switch event {
                case .polled(let outcome, let queue):
                    running -= 1
                    queues[queue].finish()
                    if let outcome { course.report.add(outcome) }
                    list(queue)
                case .waited(let queue, let sawFinished):
                    queues[queue].watchEnded(sawFinished: sawFinished)
                    list(queue)
                case .sendingIsDue:
                    guard !Task.isCancelled else { continue }
                    try await send(&course, isLast: false)
                    group.addTask { await after(Self.sendingInterval, .sendingIsDue) }
                case .budgetIsSpent: isSpent = true
                }
                if !Task.isCancelled { fill() }
            }
            group.cancelAll()
        }
        let left = queues.reduce(0) { $0 + $1.count }
        guard left > 0 else { return }
        logger.info("feeds left for the next pass", metadata: ["feeds.left": "\(left)"])
        // Shown at a terminal only: under cron it is not news that there are many feeds.
        reporter.say(.notice, "\(Counted.text(left, "feed is", "feeds are")) left for the next pass", isRepeat: true)
    }

    private func after(_ wait: Duration, _ event: Event) async -> Event {
        try? await environment.deadline(wait)
        return event
    }

    /// Returns the due feeds in queues; the longest waits come first.
    private func queues(of hosts: [[Turn]], at start: Date) -> [HostQueue<Turn>] {
        let hosts = HostLanes.joined(hosts, hosts: \.hosts)
        let queues = hosts.map { Self.queue(HostLanes.sorted($0) { $0.missedTurns(at: start) }) }
        return HostLanes.sorted(queues) { $0.first?.missedTurns(at: start) ?? 0 }
    }

    /// Makes one host's queue, with a single slot unless the host is private.
    private static func queue(_ turns: [Turn]) -> HostQueue<Turn> {
        guard turns.allSatisfy(\.source.isLocal) else { return HostQueue(turns) }
        let slots = min(concurrentLocalFeeds, (turns.count + concurrentLocalFeeds - 1) / concurrentLocalFeeds)
        return HostQueue(turns, slots: slots, maximumSlots: concurrentLocalFeeds)
    }

    private func poll(
        _ turn: Turn,
        isFirst: Bool,
        _ start: Date,
        _ quiet: QuietHosts
    ) async throws -> FeedPoll.Outcome? {
        defer { watchContext?.release(turn) }
        if quiet.contains(anyOf: turn.hosts) { return nil }
        if !isFirst, !turn.source.isLocal { try? await environment.sleep(Self.hostPause) }
        // A reply to another feed may have asked for a pause of one of the hosts.
        guard !Task.isCancelled, !quiet.contains(anyOf: turn.hosts) else { return nil }
        guard let outcome = try await takeTurn(turn, start) else { return nil }
        for line in outcome.lines { reporter.line(line) }
        logger.debug(
            "feed polled",
            metadata: [
                "feed.id": "\(turn.record.id)", "feed.url": "\(turn.source.address.publicText)",
                "feed.failed": "\(outcome.failure != nil)", "feed.unchanged": "\(outcome.isUnchanged)",
                "feed.announced": "\(outcome.announced)", "feed.recorded": "\(outcome.recorded)",
            ]
        )
        if let wait = outcome.hostWait { quiet.insert(wait.host) }
        if let host = outcome.silentHost {
            quiet.insert(host)
            watchContext?.leave(host)
        }
        return outcome
    }

    /// Takes a feed's turn; in a publisher that keeps running, after other work on the feed.
    ///
    /// - Returns: `nil` if the task was cancelled before the turn came or while the document was fetched.
    private func takeTurn(_ turn: Turn, _ start: Date) async throws -> FeedPoll.Outcome? {
        guard let watchContext else { return try await take(turn, start) }
        do {
            return try await watchContext.turns.records.pass(turn.record.id) {
                let record = try store.feed(turn.record.id) ?? turn.record
                let outcome = try await take(Turn(turn.feed, turn.judges, record, isRelease: turn.isRelease), start)
                if let outcome, outcome.isPolled { try watchContext.polled(turn.source, record, outcome) }
                return outcome
            }
        } catch is CancellationError {
            // A stop is not a failure; the feed is still due at the next start.
            return nil
        }
    }

    /// Returns the due feeds by host, and the time when the next of the others is due.
    func due(_ now: Date) throws -> (hosts: [[Turn]], next: Date?) {
        let feeds = lists.feeds
        let records = try store.enroll(feeds.map(\.source.address))
        let waits = try store.hostWaits()
        let interrupted = try store.interruptedReadings()
        var order: [String] = []
        var turns: [String: [Turn]] = [:]
        var next: Date?
        for feed in feeds {
            let source = feed.source
            guard let record = records[source.address.text] else { continue }
            let judges = try store.judges(of: feed, record, in: records)
            var hosts = record.hosts(source)
            var isRelease = false
            if let since = record.pausedAt {
                preview?.add(feed, record, state: .notAsked(.paused(since: since)))
                continue
            }
            if !options.force, let reason = notAsked(source, record, waits.latest(of: hosts, at: now), now) {
                let held = judges.compactMap { $0.record(record, in: records).heldUntil }.min()
                next = [next, reason.until, held.flatMap { $0 > now ? $0 : nil }].compactMap(\.self).min()
                preview?.add(feed, record, state: .notAsked(reason))
                guard held.map({ $0 <= now }) ?? false, preview == nil else { continue }
                isRelease = true
            }
            if isRelease { hosts = [] }
            // Files have no host that must be spared, and a release needs none.
            let isFree = source.address.isFile || isRelease
            let host = isFree ? source.address.text : source.politenessHost(record.asked(source))
            let busy = isFree ? [host] : hosts
            let limit = source.isLocal ? Self.concurrentLocalFeeds : 1
            if let watchContext, watchContext.turns.isBusy(record.id, on: busy, limit: limit) { continue }
            if turns[host] == nil { order.append(host) }
            let deaths = interrupted[record.id]?.deaths ?? 0
            turns[host, default: []].append(
                Turn(feed, judges, record, hosts: hosts, deaths: isRelease ? 0 : deaths, isRelease: isRelease)
            )
        }
        for (host, feeds) in turns {
            for turn in feeds { watchContext?.take(turn, turn.hosts.union([host])) }
        }
        return (order.compactMap { turns[$0] }, next)
    }

    /// Returns the reason why a feed is not polled; `nil` if it is due.
    private func notAsked(
        _ source: FeedSource,
        _ record: FeedRecord,
        _ wait: HostWait?,
        _ now: Date
    ) -> NotAsked? {
        if let since = record.retired { return .gone(since: since) }
        if let due = record.due, !due.hasCome(at: now) { return .notDue(until: due.at) }
        if let wait { return .hostQuiet(until: wait.due.at) }
        return PollSchedule(source, pace: record.pace).opening(after: now).map { .notDue(until: $0) }
    }
}
