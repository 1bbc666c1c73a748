package import FeedLists
internal import FoundationEssentials
internal import HostSystem
internal import HubProtocol
package import OutboundHTTP
internal import Signals
internal import SQLiteFiles
internal import Synchronization

/// A publisher that keeps running: it polls each feed when it is due, accepts deliveries of hubs, and sends at once.
///
/// Only one publisher may use a store at a time (``PublisherLock``).
package final class PublishWatch: Sendable {
    /// Maximum number of passes at the same time: one that waits for slow hosts does not delay the others.
    private static let maximumPasses = 8
    /// Shortest and longest time between two checks for due feeds; bounded because the wall clock may be set.
    private static let turn: ClosedRange<Duration> = .seconds(1) ... .seconds(60)
    /// Pause after a failure to write the store, during which no feed is polled: its news could not be stored.
    private static let storePause: Duration = .seconds(120)
    /// Pause between two attempts to send while the hub is not available or refuses us; doubles up to `longest`.
    private static let hubPause: (first: Duration, longest: Duration) = (.seconds(15), .seconds(300))

    /// Pause between two questions to the hub for requests of operators.
    private static let requestPause: Duration = .seconds(10)
    /// Pause between two reports to the hub.
    private static let reportPause: Duration = .seconds(60)

    struct State {
        var passes = 0
        /// The time of the last check for due feeds.
        var lastLook = ContinuousClock.now
        var report = PublishReport()
        /// The error that ended a pass, if waiting does not help.
        var failure: (any Error)?
        /// The failure of the store that was reported.
        var storeProblem: String?
        /// The errors of the feed lists that were reported.
        var listProblem: String?
        /// The files of the feed lists when they were last read.
        var stamps: FeedLists.Stamps
    }

    let directory: String
    let feeds: ListedFeeds
    /// The pass that is repeated, with the current lists.
    private let prototype: PublishPass
    private let turns = FeedTurns()
    let subscriber: WebSubSubscriber?
    let wakePolls = AsyncSignal()
    let wakeSender = AsyncSignal()
    let wakeLists = AsyncSignal()
    let state: Mutex<State>

    /// - Parameters:
    ///   - pass: The pass to repeat; its lists were read from `directory`.
    ///   - directory: The folder of the feed lists, which is checked for changes.
    ///   - callback: The public address below which hubs reach us; `nil` to poll feeds only.
    ///   - hubs: The addresses that feeds' hubs may have.
    package init(
        _ pass: PublishPass,
        directory: String,
        callback: String? = nil,
        hubs: AddressPolicy = .publicOnly
    ) {
        self.directory = directory
        // The files may have changed since the lists were read.
        state = Mutex(State(stamps: pass.lists.stamps ?? FeedLists.Stamps(directory: directory)))
        prototype = pass
        let feeds = ListedFeeds(pass.lists)
        self.feeds = feeds
        let (turns, wakePolls, wakeSender) = (turns, wakePolls, wakeSender)
        subscriber = callback.map { [pass] callback in
            WebSubSubscriber(
                base: callback,
                feeds: feeds,
                pass: pass,
                hubs: hubs,
                turns: turns,
                wakePolls: wakePolls,
                wakeSender: wakeSender
            )
        }
    }

    private var store: PublisherStore { prototype.store }
    private var environment: PublishEnvironment { prototype.environment }
    var reporter: PublishReporter { prototype.reporter }

    /// Runs until the task is cancelled, which ends the work between two feeds or messages.
    ///
    /// - Throws: ``SQLiteFiles/DatabaseFileError`` if the store cannot be used and waiting does not help.
    package func run() async throws {
        try pass.settleReadings()
        try subscriber?.catchUp()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await self.keepPolling() }
            group.addTask { try await self.keepSending() }
            group.addTask { await self.keepReading() }
            group.addTask { await self.keepReporting() }
            group.addTask { await self.keepAsking() }
            if let subscriber {
                group.addTask {
                    try await self.keep(subscriber.wakeRequests) {
                        let next = try await subscriber.maintain()
                        return next.map { self.pause(until: $0) } ?? Self.turn.upperBound
                    }
                }
            }
            // The first task that fails ends the others.
            for try await _ in group {}
        }
    }

    /// Runs one round of everything that is due, one after another.
    ///
    /// - Returns: The figures of the round.
    @discardableResult
    func step() async throws -> PublishReport {
        let pass = pass
        var course = PublishPass.Course(start: environment.now())
        try await pass.poll(try pass.due(course.start).hosts, &course)
        _ = try await subscriber?.maintain()
        try await pass.send(&course)
        return course.report
    }

    /// Returns the figures since the last call.
    package func takeReport() throws -> PublishReport {
        var report = state.withLock { state in
            var next = PublishReport()
            next.exit = state.report.exit
            return exchange(&state.report, with: next)
        }
        report.pending = try store.pendingCount()
        return report
    }

    package var lists: FeedLists { feeds.lists }

    /// Returns one line for the service manager.
    package func status() throws -> String {
        let active = try store.subscriptions().count { $0.subscription.state == .active }
        let pushed = subscriber == nil ? "" : ", \(active) of them pushed by their hubs"
        let waiting = Counted.text(try store.pendingCount(), "message waits", "messages wait")
        return "\(Counted.text(lists.feedCount, "feed"))\(pushed); \(waiting)"
    }

    /// Checks that the recurring work still happens.
    ///
    /// - Throws: An error if due feeds have not been looked for recently, or the store cannot be read.
    package func probe() throws {
        _ = try store.note(.hubProblem)
        let age = state.withLock { $0.lastLook }.duration(to: .now)
        guard age < Self.turn.upperBound * 3 + Self.storePause else { throw CancellationError() }
    }

    // MARK: Polls

    var pass: PublishPass {
        var pass = prototype
        pass.lists = feeds.lists
        pass.watchContext = WatchContext(
            turns: turns,
            pass: turns.begin(),
            wakeSender: wakeSender,
            subscriber: subscriber
        )
        return pass
    }

    private func keepPolling() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            try await keep(wakePolls) {
                if let failure = state.withLock({ $0.failure }) { throw failure }
                let passes = state.withLock { state in
                    state.lastLook = .now
                    return state.passes
                }
                guard passes < Self.maximumPasses else { return Self.turn.upperBound }
                let pass = pass
                let now = environment.now()
                let (hosts, next) = try pass.due(now)
                if !hosts.isEmpty {
                    state.withLock { $0.passes += 1 }
                    group.addTask { await self.poll(pass, hosts, now) }
                }
                return next.map { pause(until: $0) } ?? Self.turn.upperBound
            }
        }
    }

    private func poll(_ pass: PublishPass, _ hosts: [[PublishPass.Turn]], _ now: Date) async {
        var course = PublishPass.Course(start: now)
        do {
            try await pass.poll(hosts, &course)
        } catch let error as DatabaseFileError where error.isTemporary {
            say(error)
            try? await Task.sleep(for: Self.storePause)
        } catch {
            state.withLock { $0.failure = error }
        }
        for turn in hosts.joined() { pass.watchContext?.release(turn) }
        state.withLock { state in
            state.passes -= 1
            state.report.add(course.report)
        }
        wakePolls.signal()
    }

    // MARK: Messages

    private func keepSending() async throws {
        var pause = Duration.zero
        try await keep(wakeSender) {
            var course = PublishPass.Course(start: self.environment.now())
            try await self.pass.send(&course)
            let (report, exit) = (course.report, course.report.exit)
            self.state.withLock { state in
                state.report.add(report)
                state.report.exit = exit
            }
            guard exit != .done else {
                pause = .zero
                return report.waitsUntil.map { self.pause(until: $0) } ?? Self.hubPause.longest
            }
            // New messages do not shorten the pause: each attempt sends all messages.
            pause = min(max(pause * 2, Self.hubPause.first), Self.hubPause.longest)
            try? await Task.sleep(for: pause)
            return .zero
        }
    }

    // MARK: Health

    /// Reports the publisher's health to the hub until the task is cancelled.
    private func keepReporting() async {
        // At once, so that operators see a new publisher, and can ask it for something.
        await repeatUntilStopped(every: Self.reportPause, startsNow: true) {
            var pass = self.prototype
            pass.lists = self.feeds.lists
            await pass.reportHealth(after: self.state.withLock { $0.report }, schedule: .watch)
        }
    }

    /// Carries out requests of operators until the task is cancelled, and reports them at once.
    private func keepAsking() async {
        await repeatUntilStopped(every: Self.requestPause) {
            var pass = self.prototype
            pass.lists = self.feeds.lists
            guard await pass.handleRequests() else { return }
            self.readChangedLists()
            self.wakePolls.signal()
            pass.lists = self.feeds.lists
            await pass.reportHealth(after: self.state.withLock { $0.report }, schedule: .watch)
        }
    }

    // MARK: Loops

    /// Repeats some work until the task is cancelled, each time after the pause that `work` returns, or when woken.
    private func keep(_ wake: AsyncSignal, _ work: () async throws -> Duration) async throws {
        while !Task.isCancelled {
            do {
                let pause = try await work()
                state.withLock { $0.storeProblem = nil }
                await wake.wait(atMost: pause)
            } catch let error as DatabaseFileError where error.isTemporary {
                say(error)
                try? await Task.sleep(for: Self.storePause)
            }
        }
    }

    private func say(_ error: DatabaseFileError) {
        guard state.withLock({ exchange(&$0.storeProblem, with: error.reason) }) != error.reason else { return }
        reporter.say(.warning, "\(error); nothing is lost; retrying")
    }

    private func pause(until date: Date) -> Duration {
        let seconds = date.timeIntervalSince(environment.now())
        return min(max(.seconds(seconds), Self.turn.lowerBound), Self.turn.upperBound)
    }
}
