import Foundation
import HubProtocol
import HubRouting
import HubStore
import Logging
import PushServices
import Synchronization

/// Delivers a hub's messages to one push service with one credential.
///
/// The store is the queue: a lane holds what is in flight and how far it has read. Messages take turns by chunk. Outcomes
/// are written down through the hub's writer ten times a second, or when there are many.
actor DeliveryLane {
    /// Targets of one message that are sent before the next message has its turn.
    static let chunk = 250
    /// Messages whose targets are read at a time; those that only wait for retries do not count.
    static let maximumReading = 64
    /// Messages kept in memory though nothing of them is in flight.
    static let maximumIdle = 64
    /// Registrations of one handle that are sent a message, and are looked at for each.
    static let maximumOfHandle = 20
    /// Between two looks when nothing happens.
    static let longestRest = Duration.seconds(30)
    /// How long after its acceptance a message that is to be delivered now or never may be sent for the first time.
    static let latestOnce = Duration.seconds(600)
    /// Targets for which a refusal of the credential is remembered.
    static let maximumRefused = 1_024
    /// How long a chunk waits for hosts that have as much in flight as they may.
    static let patience = Duration.seconds(1)
    /// No wait is longer; a clock that was set back must not make it so.
    static let longestPause = Duration.seconds(3_600)

    /// What every target of a message that is on its way needs.
    struct Course {
        let delivery: Delivery
        var rendering: PushRendering
        /// The block that was read last, and what of it is left.
        var block: Int64 = -1
        var rest = OrdinalSet()
        var position = Ordinal(rawValue: -1)
        /// Targets to be chosen next; most of them were chosen before and not sent.
        var returned: [Ordinal] = []
        var hasReadAll = false
        /// Targets that were sent and are not written down.
        var outstanding = 0

        var isReading: Bool { !hasReadAll || !returned.isEmpty }
    }

    struct TargetKey: Hashable {
        let key: DeliveryKey
        let ordinal: Ordinal
    }

    let platform: String
    let hub: Hub
    let service: (any PushService)?
    let audience: String?
    let isClockSteady: @Sendable () -> Bool
    let slots = PushSlots()
    let landings = PushLandings()
    let bell = Bell()
    private let isRetiring = Atomic(false)
    var courses: [DeliveryKey: Course] = [:]
    /// The messages whose targets are read, in the order of their turns.
    var reading: [DeliveryKey] = []
    var openedThrough = LogSequence.start
    /// There may be messages above ``openedThrough``.
    var hasNews = true
    var nextExpiryLook = Timestamp.distantPast
    /// Sent, and not written down.
    var pending: Set<TargetKey> = []
    var unwritten = PushBatch()
    /// The last write, which the next one waits for.
    var writing: Task<Void, Never>?
    var circuit = CredentialCircuit()
    var doubts = HandleDoubts()
    var troubles = HostTroubles()
    var slowHosts = SlowHosts()
    /// Targets for which the credential was refused, and how many answers had been good until then.
    var refusedFor: [TargetKey: Int] = [:]
    var goodAnswers = 0
    var pausedUntil = Timestamp.distantPast
    private var hasSaidFailure = false
    private var settlers: [CheckedContinuation<Void, Never>] = []

    /// Makes a lane that is not running yet; `service` is `nil` while the hub has no usable credential: messages wait until they expire.
    init(
        hub: Hub,
        platform: String,
        service: (any PushService)?,
        audience: String?,
        isClockSteady: @escaping @Sendable () -> Bool
    ) {
        self.hub = hub
        self.platform = platform
        self.service = service
        self.audience = audience
        self.isClockSteady = isClockSteady
    }

    /// There is a new message.
    nonisolated func wake() {
        Task { await noteNews() }
    }

    private func noteNews() {
        hasNews = true
        bell.ring()
    }

    /// Lets what is in flight end by itself when the task is cancelled, as for a new credential.
    nonisolated func retire() { isRetiring.store(true, ordering: .relaxed) }

    /// Delivers until the task is cancelled; then what is in flight ends, and its outcomes are written down.
    func run() async {
        let writing = Task { await self.writeOutcomes() }
        await withTaskCancellationHandler {
            while !Task.isCancelled, !hub.isDeleted { await work() }
        } onCancel: {
            slots.close()
            if !isRetiring.load(ordering: .relaxed) { Task { await self.service?.shutdown() } }
        }
        slots.close()
        if isRetiring.load(ordering: .relaxed) { await slots.waitUntilLanded() }
        await service?.shutdown()
        await slots.waitUntilLanded()
        writing.cancel()
        await writing.value
        await flush()
        for settler in settlers { settler.resume() }
        settlers = []
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
        if await !resumeSettlers() { await bell.wait(atMost: min(rest, Self.longestRest)) }
    }

    /// Returns when all that can be sent now was sent, and its outcomes are written down.
    func settle() async {
        await withCheckedContinuation { continuation in
            settlers.append(continuation)
            hasNews = true
            bell.ring()
        }
    }

    /// - Returns: True if there is more to do.
    private func resumeSettlers() async -> Bool {
        guard !settlers.isEmpty else { return false }
        await slots.waitUntilLanded()
        await flush()
        let isStopped = service == nil || hub.status.isDisabled
        let isHeldUp = isPaused(at: hub.configuration.timestamp) || circuit.reason != nil
        let hasTargets = !slowHosts.isEmpty || courses.values.contains(where: \.isReading)
        let hasMore = hasNews || !isHeldUp && hasTargets
        guard isStopped || !hasMore else { return true }
        for settler in settlers { settler.resume() }
        settlers = []
        return false
    }

    /// True while the whole service is left alone.
    func isPaused(at now: Timestamp) -> Bool {
        if pausedUntil > now + Self.longestPause { pausedUntil = now }
        return pausedUntil > now
    }

    func noteFailure(_ error: any Error) {
        guard !(error is CancellationError), !hub.isDeleted, !hasSaidFailure else { return }
        hasSaidFailure = true
        hub.logger.warning(
            "messages for a push service cannot be read or written; it is tried again",
            metadata: ["hub.name": "\(hub.record.name)", "push.platform": "\(platform)", "error.reason": "\(error)"]
        )
    }
}
