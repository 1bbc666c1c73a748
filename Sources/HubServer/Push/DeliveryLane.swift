import Foundation
import HubProtocol
import HubRouting
import HubStore
import Logging
import PushServices
import Signals
import Synchronization

/// Delivers a hub's messages to one push service with one credential.
///
/// Each step chooses targets, renders their messages and sends them; a second task records the outcomes. Choosing,
/// rendering, sending and recording have an extension each.
///
/// The store is the queue: a lane holds the targets in flight and its position in each message. Messages take turns by
/// chunk. The hub's writer records outcomes ten times a second, or sooner when there are many.
actor DeliveryLane {
    /// Targets of one message that are sent before the next message's turn.
    static let chunk = 250
    /// Messages whose targets are read at the same time; those that only wait for retries do not count.
    static let maximumReading = 64
    /// Messages that came last and are read in addition, so that they do not wait for long ones before them.
    static let maximumNewest = 16
    /// Messages kept in memory that have nothing in flight.
    static let maximumIdle = 64
    /// Registrations of one handle that get a message, and earlier ones that are compared for each.
    static let maximumOfHandle = 20
    /// Longest time between two steps when nothing happens.
    static let longestRest = Duration.seconds(30)
    /// Time after its acceptance in which the first attempt to send a message without storage (`TTL` 0) may begin.
    static let latestOnce = Duration.seconds(600)
    /// Time between two checks of the lease by a lane without it: a term that lapsed may be renewed.
    static let leaseInterval = Duration.seconds(1)
    /// Targets for which the lane remembers a refusal of the credential.
    static let maximumRefused = 1_024
    /// Time that a chunk waits for hosts that have their share of slots in flight.
    static let patience = Duration.seconds(1)
    /// Time after which registrations that were read for sending are read again.
    ///
    /// Longer than ``patience``, so that a chunk that has waited for a slow host is not given back for that alone.
    static let freshness = Duration.seconds(2)
    /// Time that a service which has not proven itself has for its answer before another request is sent.
    static let firstAnswer = Duration.seconds(2)
    /// Largest number of requests in flight at such a service.
    static let maximumUnproven = 8
    /// Longest pause, also after the clock was set back.
    static let longestPause = Duration.seconds(3_600)
    /// A retry that is due later was written by a clock that was ahead; a clock that is set back by a little, as often
    /// happens, makes no wait shorter than its service asked for.
    static let longestRetry = longestPause + .seconds(60)

    /// State of one message that is being delivered.
    struct Course {
        let delivery: Delivery
        var rendering: PushRendering
        /// The block that was read last, and its targets that were not chosen yet.
        var block: Int64 = -1
        var rest = OrdinalSet()
        var position = Ordinal(rawValue: -1)
        /// Targets to choose next; most of them were chosen before and not sent.
        var returned: [Ordinal] = []
        var hasReadAll = false
        /// True once the message's targets are being or have been read, not only its retries.
        var isOpened = false
        /// Targets that were sent and are not recorded yet.
        var outstanding = 0

        var isReading: Bool { !hasReadAll || !returned.isEmpty }
    }

    struct TargetKey: Hashable {
        let key: DeliveryKey
        let ordinal: Ordinal
    }

    private struct News {
        /// True if there may be messages after ``openedThrough``.
        var exists = true
        /// True if a message has come since the newest ones were opened.
        var isFresh = false
    }

    let platform: Platform
    let hub: Hub
    let service: (any PushService)?
    let audience: String?
    private let lease: NodeLease
    /// `nil` for a node without duties, which delivers nothing.
    nonisolated let term: LeaseTerm?
    let isClockSteady: @Sendable () -> Bool
    private let wallClock: @Sendable () -> Date
    let slots = PushSlots()
    let outcomeBuffer = OutcomeBuffer()
    let wakeUp = AsyncSignal()
    private let isStopping = Atomic(false)
    var courses: [DeliveryKey: Course] = [:]
    /// Messages whose targets are being read, in the order of their turns.
    var reading: [DeliveryKey] = []
    var openedThrough = LogSequence.start
    private let news = Mutex(News())
    var nextExpiryLook = Timestamp.distantPast
    var expiries = MessageExpiries()
    /// The last message whose expiry is in ``expiries``, if it has one of its own.
    var expiriesReadThrough = LogSequence.start
    /// Targets that were sent and are not recorded yet.
    var pending: Set<TargetKey> = []
    /// Targets that have a slot and are not handed to the service yet.
    var outbox: [(target: PreparedTarget, landing: PushLanding)] = []
    var unwritten = PushBatch()
    /// The latest write, which the next one waits for.
    var writing: Task<Void, Never>?
    var circuit = CredentialCircuit()
    var rejectionGuard = RejectionGuard()
    var hostFailures = HostFailures()
    var hostRefusals = HostRefusals()
    var slowHosts = SlowHosts()
    /// Paused hosts that targets in the store wait for, up to ``HostFailures/maximumHosts``.
    var awaitedHosts: Set<String> = []
    /// True if ``awaitedHosts`` has those that an earlier lane has stored.
    var hasReadAwaitedHosts = false
    /// Targets for which the credential was refused, with ``goodAnswers`` at that time.
    var refusedFor: [TargetKey: Int] = [:]
    var goodAnswers = 0
    var pausedUntil = Timestamp.distantPast
    /// The end of the pause that the service has asked for.
    var askedPauseUntil = Timestamp.distantPast
    /// The paused hosts that metrics show.
    var reportedPauses: [String: Timestamp] = [:]
    /// True if a probe has had an answer that lets everything go on.
    var hasRecovered = false
    private var hasLostLease = false
    private var hasSaidFailure = false
    private var settlers: [(exceptInFlight: Bool, continuation: CheckedContinuation<Void, Never>)] = []

    /// Makes a lane that is not running yet.
    ///
    /// `service` is `nil` while the hub has no usable credential; messages then wait until they expire.
    init(
        hub: Hub,
        platform: Platform,
        service: (any PushService)?,
        audience: String?,
        lease: NodeLease,
        term: LeaseTerm?,
        isClockSteady: @escaping @Sendable () -> Bool
    ) {
        self.hub = hub
        self.platform = platform
        self.service = service
        self.audience = audience
        self.lease = lease
        self.term = term
        self.isClockSteady = isClockSteady
        wallClock = hub.configuration.now
    }

    /// The hub's time; reading it through the configuration, a large value, would be slower.
    var wallTime: Timestamp { Timestamp(wallClock()) }

    /// Wakes the lane for a new message.
    nonisolated func wake() {
        news.withLock { $0 = News(exists: true, isFresh: true) }
        wakeUp.signal()
    }

    var hasNews: Bool {
        get { news.withLock { $0.exists } }
        set { news.withLock { $0.exists = newValue } }
    }

    var hasFreshNews: Bool { news.withLock { $0.isFresh } }

    /// Records that the newest messages were opened; with `ifAllAreOpened`, only if no message is left to open.
    func forgetFreshNews(ifAllAreOpened: Bool = false) {
        news.withLock { if !ifAllAreOpened || !$0.exists { $0.isFresh = false } }
    }

    /// Delivers until the task is cancelled; then requests in flight end on their own, and their outcomes are recorded.
    func run() async {
        let writing = Task { await self.writeOutcomes() }
        await withTaskCancellationHandler {
            while !Task.isCancelled, !hub.isDeleted { await work() }
        } onCancel: {
            slots.close()
        }
        slots.close()
        await slots.waitUntilLanded()
        await service?.shutdown()
        writing.cancel()
        await writing.value
        // This task is cancelled, and its waits would end at once.
        await Task { await self.recordRest() }.value
        for settler in settlers { settler.continuation.resume() }
        settlers = []
    }

    /// Ends the requests in flight, and the wait for a writer that does not record their outcomes: the program stops.
    nonisolated func stop() {
        isStopping.store(true, ordering: .relaxed)
        Task { await service?.shutdown() }
    }

    /// Records the last outcomes: the next lane would send again to targets whose outcomes are not recorded.
    private func recordRest() async {
        await flush()
        while !unwritten.isEmpty, !isStopping.load(ordering: .relaxed) {
            await outcomeBuffer.wait()
            await flush()
        }
    }

    private func work() async {
        let rest: Duration?
        do {
            rest = try await step()
            hasSaidFailure = false
        } catch {
            noteFailure(error)
            rest = .seconds(5)
        }
        guard let rest else { return }
        if await !resumeSettlers() { await wakeUp.wait(atMost: min(rest, Self.longestRest)) }
    }

    /// Returns when everything that can be sent now has been sent and its outcomes are recorded.
    ///
    /// - Parameter exceptInFlight: True not to wait for answers.
    func settle(exceptInFlight: Bool = false) async {
        await withCheckedContinuation { continuation in
            settlers.append((exceptInFlight, continuation))
            hasNews = true
            wakeUp.signal()
        }
    }

    /// - Returns: True if there is more to do.
    private func resumeSettlers() async -> Bool {
        guard !settlers.isEmpty else { return false }
        if !settlers.allSatisfy(\.exceptInFlight) { await slots.waitUntilLanded() }
        await flush()
        if hasRecovered {
            hasRecovered = false
            return true
        }
        let isStopped = service == nil || hub.isDisabled || !holdsLease
        let now = wallTime
        let isHeldUp = isPaused(at: now) || allowance(at: now) != .everything
        // The targets of an expired message wait for the next look for expired messages, and not for a slot.
        let hasTargets =
            hasSendableWaiting(at: now)
            || courses.values.contains { $0.isReading && !isExpired($0.rendering, at: now) }
        let canOpen = hasNews && reading.count < Self.maximumReading
        let hasMore = canOpen || !isHeldUp && hasTargets
        guard isStopped || !hasMore else { return true }
        for settler in settlers { settler.continuation.resume() }
        settlers = []
        return false
    }

    // MARK: - Lease

    /// True while this node may deliver.
    var holdsLease: Bool { term != nil && !hasLostLease && lease.current == term }

    /// Makes a change of the hub, unless another node delivers its messages now.
    ///
    /// - Throws: The errors of a change; ``LeaseLost``, after which this lane does nothing more.
    func perform<Answer: Sendable>(
        _ stage: @escaping @Sendable (Transaction) throws -> (Answer, [any HubEffect])
    ) async throws -> Answer {
        do {
            return try await hub.perform { [term] transaction, _ in
                try term?.check(transaction)
                return try stage(transaction)
            }
        } catch let error as LeaseLost {
            hasLostLease = true
            throw error
        }
    }

    /// Checks, after the last read before targets are sent, that no other node delivers them.
    ///
    /// - Throws: ``LeaseLost``, after which this lane does nothing more; the errors of a read.
    func confirmLease() async throws {
        do {
            try await term?.check(hub.store)
        } catch let error as LeaseLost {
            hasLostLease = true
            throw error
        }
    }

    /// True while the whole service is paused.
    func isPaused(at now: Timestamp) -> Bool {
        if pausedUntil > now + Self.longestPause { pausedUntil = now }
        return pausedUntil > now
    }

    func noteFailure(_ error: any Error) {
        guard !(error is CancellationError), !(error is LeaseLost), !hub.isDeleted, !hasSaidFailure else { return }
        hasSaidFailure = true
        hub.logger.warning(
            "cannot read or record messages for a push service; the hub tries again",
            metadata: ["hub.name": "\(hub.record.name)", "push.platform": "\(platform)", "error.reason": "\(error)"]
        )
    }
}

extension DeliveryLane.TargetKey {
    init(_ retry: DeliveryRetry) { self.init(key: retry.key, ordinal: retry.ordinal) }
}
