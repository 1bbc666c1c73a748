internal import Feeds
internal import FoundationEssentials
package import HubClient
internal import HubProtocol
package import Logging
package import OutboundHTTP

/// One polling pass: ask the feeds that are due, record what is new, send what waits.
///
/// Whatever point a pass is killed at, the next one goes on from there: no entry is lost, and none announced twice
/// where the hub knows idempotency keys.
package struct PublishPass: Sendable {
    /// Feeds asked for at the same time; of one public host one at a time.
    private static let concurrentFeeds = 16
    /// Of one host of one's own, one for each so many feeds.
    private static let concurrentLocalFeeds = 8
    /// Between two requests to one public host.
    private static let hostPause: Duration = .seconds(1)
    /// After it no other feed is asked for; what is left is due in the next pass, which every feed waits for.
    static let pollingBudget: Duration = .seconds(240)
    /// What is news waits so long for other feeds that may tell the same story, and not for slow hosts.
    static let sendingInterval: Duration = .seconds(15)
    private static let secondsOfDay: Double = 86_400

    private let lists: FeedLists
    private let store: PublisherStore
    private let fetcher: FeedFetcher
    private let hub: HubClient?
    /// In a dry run.
    private let preview: PreviewCollector?
    private let options: PublishOptions
    /// In a publisher that stays.
    private let resident: ResidentTurns?
    private let environment: PublishEnvironment
    private let reporter: PublishReporter
    private let logger: Logger

    /// A pass that sends.
    ///
    /// Only one may use a store at a time (``PublisherLock``). The user agent of `http` names us to the feeds.
    package init(
        lists: FeedLists,
        store: PublisherStore,
        http: OutboundClient,
        hub: HubClient,
        options: PublishOptions = PublishOptions(),
        environment: PublishEnvironment = PublishEnvironment(),
        reporter: PublishReporter,
        logger: Logger = Logger(label: "newswire.publish")
    ) {
        self.init(
            lists: lists,
            store: store,
            http: http,
            hub: hub,
            options: options,
            resident: nil,
            environment: environment,
            reporter: reporter,
            logger: logger
        )
    }

    /// The work of a publisher that stays: it asks for what is due and sends in its own time.
    init(
        lists: FeedLists,
        store: PublisherStore,
        http: OutboundClient,
        hub: HubClient,
        options: PublishOptions,
        resident: ResidentTurns?,
        environment: PublishEnvironment,
        reporter: PublishReporter,
        logger: Logger
    ) {
        self.init(
            lists: lists,
            store: store,
            http: http,
            hub: hub,
            preview: nil,
            options: options,
            resident: resident,
            environment: environment,
            reporter: reporter,
            logger: logger
        )
    }

    /// Runs a pass that shows what it would do instead of sending, and changes nothing on disk or at the hub.
    ///
    /// Each feed that is due is asked for its whole document, whatever it answered last. The store at `path` is read, and
    /// not made when there is none. Without a hub nobody is counted.
    ///
    /// - Throws: ``PublisherStoreError``.
    package static func preview(
        lists: FeedLists,
        storePath path: String,
        http: OutboundClient,
        hub: HubClient?,
        options: PublishOptions = PublishOptions(),
        environment: PublishEnvironment = PublishEnvironment(),
        reporter: PublishReporter,
        logger: Logger = Logger(label: "newswire.publish")
    ) async throws -> PublishPreview {
        let collector = PreviewCollector()
        let pass = PublishPass(
            lists: lists,
            store: try PublisherStore.scratchCopy(of: path),
            http: http,
            hub: hub,
            preview: collector,
            options: options,
            resident: nil,
            environment: environment,
            reporter: reporter,
            logger: logger
        )
        return collector.preview(of: lists, try await pass.run())
    }

    private init(
        lists: FeedLists,
        store: PublisherStore,
        http: OutboundClient,
        hub: HubClient?,
        preview: PreviewCollector?,
        options: PublishOptions,
        resident: ResidentTurns?,
        environment: PublishEnvironment,
        reporter: PublishReporter,
        logger: Logger
    ) {
        self.lists = lists
        self.store = store
        self.fetcher = FeedFetcher(http: http, now: environment.now)
        self.hub = hub
        self.preview = preview
        self.options = options
        self.resident = resident
        self.environment = environment
        self.reporter = reporter
        self.logger = logger
    }

    /// Runs the pass.
    ///
    /// A cancelled task ends it between two feeds or messages.
    ///
    /// - Throws: ``PublisherStoreError`` when nothing can be recorded; the caller ends with 75 if it is temporary.
    package func run() async throws -> PublishReport {
        let start = environment.now()
        var report = PublishReport()
        var sending = Sending()
        try await poll(try due(start).hosts, start, &report, &sending)
        try await send(start, &report, &sending)
        report.pending = try store.counts().pending
        return report
    }

    // MARK: Feeds

    struct Turn: Sendable {
        let list: FeedList
        let source: FeedSource
        let record: FeedRecord
        /// Who will be asked, and who is known to answer; empty for a file.
        let hosts: Set<String>

        /// How long it has been due: 0 up to one of its intervals, 1 up to three, 2 up to seven and so on.
        ///
        /// So what one pass left is first in one of the next, and all else keeps the order of the lists.
        func missedTurns(at now: Date) -> Int {
            // Who was never asked comes first; being asked makes it due later.
            guard let due = record.due else { return .max }
            let interval = (source.interval ?? .standard).duration.inSeconds
            return (1 + max(0, now.timeIntervalSince(due.at)) / interval).exponent
        }
    }

    private enum Event: Sendable {
        /// One feed of a lane was asked for, or left alone; what is left of the lane.
        case polled(FeedPoll.Outcome?, rest: ArraySlice<Turn>)
        case sendingIsDue
        case budgetIsSpent
    }

    /// Asks for feeds that are due, host by host, for a publisher that stays and sends in its own time.
    func poll(_ hosts: [[Turn]], _ start: Date, _ report: inout PublishReport) async throws {
        var sending = Sending(isElsewhere: true)
        try await poll(hosts, start, &report, &sending)
    }

    /// Asks for one feed of each lane in turn, so that none waits for a slow one, and sends meanwhile.
    ///
    /// `start` is when the feeds were found to be due.
    private func poll(
        _ hosts: [[Turn]],
        _ start: Date,
        _ report: inout PublishReport,
        _ sending: inout Sending
    ) async throws {
        var lanes = lanes(of: hosts, at: start)[...]
        let quiet = QuietHosts()
        var running = 0
        var isSpent = false
        try await withThrowingTaskGroup(of: Event.self) { group in
            func fill() {
                while !isSpent, running < Self.concurrentFeeds, let lane = lanes.popFirst() {
                    running += 1
                    group.addTask { try await pollFirst(of: lane, start, quiet) }
                }
            }
            group.addTask { await after(Self.pollingBudget, .budgetIsSpent) }
            if !sending.isElsewhere { group.addTask { await after(Self.sendingInterval, .sendingIsDue) } }
            fill()
            while running > 0, let event = try await group.next() {
                switch event {
                case .polled(let outcome, let rest):
                    running -= 1
                    if let outcome { count(outcome, &report) }
                    if !rest.isEmpty { lanes.append(rest) }
                    if !Task.isCancelled { fill() }
                case .sendingIsDue:
                    guard preview == nil, !Task.isCancelled else { continue }
                    sending.isLast = false
                    try await send(start, &report, &sending)
                    sending.isLast = true
                    group.addTask { await after(Self.sendingInterval, .sendingIsDue) }
                case .budgetIsSpent: isSpent = true
                }
            }
            group.cancelAll()
        }
        let left = lanes.reduce(0) { $0 + $1.count }
        guard left > 0 else { return }
        logger.info("feeds left for the next pass", metadata: ["feeds.left": "\(left)"])
        // For who looks on: under cron it is no news that there are many feeds.
        reporter.line(PublishLine(.notice, "\(left) feeds are left for the next pass", isRepeat: true))
    }

    private func after(_ wait: Duration, _ event: Event) async -> Event {
        try? await environment.deadline(wait)
        return event
    }

    /// The feeds that are due, parted into those that are asked for one after the other; what waits longest is first.
    private func lanes(of hosts: [[Turn]], at start: Date) -> [ArraySlice<Turn>] {
        let hosts = HostLanes.joined(hosts, hosts: \.hosts)
        let lanes = hosts.map { HostLanes.sorted($0) { $0.missedTurns(at: start) } }.flatMap(Self.lanes)
        return HostLanes.sorted(lanes) { $0.first?.missedTurns(at: start) ?? 0 }.map { $0[...] }
    }

    /// Parts one host's feeds into those asked for one after the other: all, unless the host is one's own.
    private static func lanes(_ turns: [Turn]) -> [[Turn]] {
        guard turns.allSatisfy(\.source.isLocal) else { return [turns] }
        let count = min(concurrentLocalFeeds, (turns.count + concurrentLocalFeeds - 1) / concurrentLocalFeeds)
        return (0..<count).map { lane in stride(from: lane, to: turns.count, by: count).map { turns[$0] } }
    }

    private func pollFirst(of lane: ArraySlice<Turn>, _ start: Date, _ quiet: QuietHosts) async throws -> Event {
        guard let turn = lane.first else { return .polled(nil, rest: []) }
        let rest = lane.dropFirst()
        defer { resident?.turns.release(turn.record.id) }
        if quiet.contains(anyOf: turn.hosts) { return .polled(nil, rest: rest) }
        // The slice begins at 0 until its first feed was asked for.
        if lane.startIndex > 0, !turn.source.isLocal { try? await environment.sleep(Self.hostPause) }
        guard !Task.isCancelled else { return .polled(nil, rest: []) }
        let poll = FeedPoll(
            list: turn.list,
            source: turn.source,
            store: store,
            fetcher: fetcher,
            environment: environment,
            existing: options.announceExisting,
            start: start,
            preview: preview
        )
        let outcome =
            if let resident { try await resident.poll(turn, poll) } else { try await poll.run(turn.record) }
        guard !outcome.isCancelled else { return .polled(nil, rest: []) }
        for line in outcome.lines { reporter.line(line) }
        logger.debug(
            "feed polled",
            metadata: [
                "feed.id": "\(turn.record.id)", "feed.url": "\(turn.source.address.publicText)",
                "feed.failed": "\(outcome.isFailed)", "feed.unchanged": "\(outcome.isUnchanged)",
                "feed.announced": "\(outcome.announced)", "feed.recorded": "\(outcome.recorded)",
            ]
        )
        if let wait = outcome.hostWait { quiet.insert(wait.host) }
        if let host = outcome.silentHost { quiet.insert(host) }
        return .polled(outcome, rest: rest)
    }

    /// The feeds that are due, by host, and when the next of the others is.
    func due(_ now: Date) throws -> (hosts: [[Turn]], next: Date?) {
        let feeds = lists.lists.flatMap { list in list.feeds.map { (list, $0) } }
        let records = try store.enroll(feeds.map(\.1.address))
        let waits = try store.hostWaits()
        var order: [String] = []
        var turns: [String: [Turn]] = [:]
        var next: Date?
        for (list, source) in feeds {
            guard let record = records[source.address.text] else { continue }
            let hosts = record.hosts(source)
            if !options.force, let reason = notAsked(source, record, waits.latest(of: hosts, at: now), now) {
                next = [next, reason.until].compactMap(\.self).min()
                preview?.add(
                    FeedPreview(
                        category: list.category.text,
                        address: source.address,
                        title: source.title ?? record.title,
                        state: .notAsked(reason)
                    )
                )
                continue
            }
            // Files share no host that could mind.
            let host = source.address.isFile ? source.address.text : record.asked(source).host
            let busy = source.address.isFile ? [host] : hosts
            if let resident, resident.turns.isBusy(anyOf: busy) { continue }
            if turns[host] == nil { order.append(host) }
            turns[host, default: []].append(Turn(list: list, source: source, record: record, hosts: hosts))
        }
        for (host, feeds) in turns {
            for turn in feeds { resident?.turns.take(turn.record.id, turn.hosts.union([host])) }
        }
        return (order.compactMap { turns[$0] }, next)
    }

    /// `nil` when it is due.
    private func notAsked(
        _ source: FeedSource,
        _ record: FeedRecord,
        _ wait: DueTime?,
        _ now: Date
    ) -> NotAsked? {
        if let since = record.retired { return .gone(since: since) }
        if let due = record.due, !due.hasCome(at: now) { return .notDue(until: due.at) }
        if let wait { return .hostQuiet(until: wait.at) }
        return PollSchedule(source, pace: record.pace).opening(after: now).map { .notDue(until: $0) }
    }

    private func count(_ outcome: FeedPoll.Outcome, _ report: inout PublishReport) {
        report.polled += 1
        report.unchanged += outcome.isUnchanged ? 1 : 0
        report.failedFeeds += outcome.isFailed ? 1 : 0
        report.announced += outcome.announced
        report.recorded += outcome.recorded
    }

    // MARK: The hub

    /// What was sent already in this pass.
    private struct Sending {
        /// Somebody else sends.
        var isElsewhere = false
        /// By category, what counts in the cap.
        var singles: [String: Int] = [:]
        /// Whether all that this pass finds is there: then the rest of a category becomes a digest.
        var isLast = true
        /// The hub is away or refuses us: another pass tries again.
        var hasFailed = false
    }

    /// Sends what waits.
    func send(_ start: Date, _ report: inout PublishReport) async throws {
        var sending = Sending()
        try await send(start, &report, &sending)
    }

    private func send(_ start: Date, _ report: inout PublishReport, _ sending: inout Sending) async throws {
        guard !sending.hasFailed else { return }
        let target: any MessageHub
        if let preview {
            target = PreviewHub(client: hub, collector: preview)
        } else if let hub {
            let (error, wasContacted) = try await announceCategories(to: hub, start)
            if let error {
                sending.hasFailed = true
                try settle(error, &report)
                return
            }
            if wasContacted { try settle(nil, &report) }
            target = LiveHub(client: hub)
        } else {
            return
        }
        var sender = OutboxSender(
            store: store,
            hub: target,
            options: options,
            environment: environment,
            reporter: reporter,
            now: start,
            preview: preview
        )
        sender.singles = sending.singles
        sender.isLast = sending.isLast
        let outcome = try await sender.run()
        sending.singles = outcome.singles
        sending.hasFailed = outcome.trouble != nil
        report.sent += outcome.sent
        report.digests += outcome.digests
        report.refused += outcome.refused
        report.waitsUntil = outcome.waitsUntil
        guard preview == nil else { return }
        if outcome.trouble != nil || outcome.wasContacted { try settle(outcome.trouble, &report) }
    }

    /// Tells the hub which categories there are when that changed, and once a day in case the hub forgot.
    private func announceCategories(
        to hub: HubClient,
        _ now: Date
    ) async throws -> (error: HubClientError?, wasContacted: Bool) {
        let categories = lists.categories.map(\.text).sorted()
        let day = Int64((now.timeIntervalSince1970 / Self.secondsOfDay).rounded(.down))
        let value = "\(options.publisher) \(day) \(categories.joined(separator: ","))"
        guard try store.note(.announcedCategories) != value else { return (nil, false) }
        do throws(HubClientError) {
            _ = try await hub.setCategories(categories, publisher: options.publisher)
        } catch .refused(400, _, _, _) {
            // Another hub's word for a route that it does not know (protocol §2); its agents need no list.
        } catch {
            return (error, true)
        }
        try store.setNote(.announcedCategories, value)
        return (nil, true)
    }

    /// Says once that the hub is away or refuses us, and once that it is back.
    private func settle(_ error: HubClientError?, _ report: inout PublishReport) throws {
        let before = try store.note(.hubTrouble)
        guard let error else {
            guard before != nil else { return }
            try store.setNote(.hubTrouble, nil)
            reporter.line(PublishLine(.notice, "hub '\(hub?.address ?? "")' takes messages again"))
            return
        }
        if case .cancelled = error {
            report.exit = .tryLater
            return
        }
        let trouble = HubTrouble(error, at: hub?.address ?? "", pending: try store.counts().pending)
        report.exit = trouble.isConfiguration ? .badConfiguration : .tryLater
        let isRepeat = before == trouble.kind
        reporter.line(PublishLine(trouble.isConfiguration ? .error : .warning, trouble.line, isRepeat: isRepeat))
        if let advice = trouble.advice { reporter.line(PublishLine(.hint, advice, isRepeat: isRepeat)) }
        if !isRepeat { try store.setNote(.hubTrouble, trouble.kind) }
    }
}
