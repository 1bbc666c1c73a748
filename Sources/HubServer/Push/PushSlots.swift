import Signals
import Synchronization

/// Limits the number of targets in flight at a push service, and of targets that were sent and are not recorded yet.
///
/// A crash repeats no more than the targets that are not recorded.
///
/// Browsers' endpoints and WNS channels name hosts. There are twice as many slots as one host may hold. A host gets no
/// further slot while it holds as many as are free. A single host therefore gets the full number, and any number of
/// hosts that do not answer leave slots for the next one. A service with hosts of its own counts as one host with an
/// empty name.
final class PushSlots: Sendable {
    /// Targets of one credential that may be sent and not recorded.
    static let maximumUnwritten = 4_000
    /// Limit for targets that are recorded without being sent.
    static let unlimited = Int.max / 2

    /// The answer to a request for a slot.
    enum Turn: Equatable {
        case taken
        /// The host still holds its share of slots.
        case hostIsFull
        /// ``PushSlots/close()`` was called.
        case closed
    }

    private struct State {
        var inFlight = 0
        /// Targets in flight by host.
        var hosts: [String: Int] = [:]
        /// Targets in flight, or done and not recorded.
        var unwritten = 0
        /// Slots of one host.
        var limit = 1
        var isClosed = false
        /// The host of the task that waits for a slot.
        var awaitedHost: String?

        func hasRoom(_ host: String) -> Bool { hosts[host, default: 0] < min(limit, 2 * limit - inFlight) }

        func isFree(for host: String) -> Bool { hasRoom(host) && unwritten < PushSlots.maximumUnwritten }
    }

    private let state = Mutex(State())
    /// Signals that the awaited host may have a slot.
    private let freed = AsyncSignal()
    /// Signals that nothing is in flight.
    private let landed = AsyncSignal()

    var inFlight: Int { state.withLock { $0.inFlight } }

    /// Takes a slot, waiting until one is free; only one task waits at a time.
    ///
    /// - Parameters:
    ///   - limit: Number of targets that one host may have in flight now, at least 1.
    ///   - host: Empty for a service with hosts of its own.
    ///   - deadline: Time to stop waiting for the host's share; `nil` to wait without limit. A deadline that has passed
    ///     still takes a slot that is free.
    /// - Returns: ``Turn/taken``, or the reason why there is no slot.
    func take(
        limit: Int,
        for host: String = "",
        waitingUntil deadline: ContinuousClock.Instant? = nil
    ) async -> Turn {
        while true {
            // Read once, before the slots are: a deadline that passed in between would start a wait without limit.
            let hasPassed = Self.hasPassed(deadline)
            if let turn = takeNow(limit: limit, for: host, waits: !hasPassed) { return turn }
            // After the deadline only the recording of outcomes is waited for.
            if let deadline, !hasPassed { await freed.wait(before: deadline) } else { await freed.wait() }
            if Task.isCancelled { return .closed }
        }
    }

    /// Takes a slot if one is free now.
    ///
    /// - Returns: `nil` if ``take(limit:for:waitingUntil:)`` would wait.
    func takeNow(limit: Int, for host: String, waitingUntil deadline: ContinuousClock.Instant?) -> Turn? {
        takeNow(limit: limit, for: host, waits: !Self.hasPassed(deadline))
    }

    /// Takes a slot if one is free now; `waits` is false for a caller that no longer waits for the host's share.
    private func takeNow(limit: Int, for host: String, waits: Bool) -> Turn? {
        state.withLock { state in
            guard !state.isClosed else { return .closed }
            state.limit = max(1, limit)
            state.awaitedHost = host
            guard state.hasRoom(host) else { return waits ? nil : .hostIsFull }
            guard state.isFree(for: host) else { return nil }
            state.awaitedHost = nil
            state.inFlight += 1
            state.hosts[host, default: 0] += 1
            state.unwritten += 1
            return .taken
        }
    }

    private static func hasPassed(_ deadline: ContinuousClock.Instant?) -> Bool {
        deadline.map { $0 <= .now } ?? false
    }

    /// Returns the number of slots that a host can take now.
    func room(for host: String, limit: Int) -> Int {
        state.withLock { state in
            let held = state.hosts[host, default: 0]
            return max(0, min(limit - held, (2 * limit - state.inFlight - held + 1) / 2))
        }
    }

    /// Refuses further slots, also to a task that waits for one.
    func close() {
        state.withLock { $0.isClosed = true }
        freed.signal()
    }

    /// Releases the slot of a target whose outcome waits to be recorded.
    func land(_ host: String = "") { land(CollectionOfOne(host)) }

    /// Releases the slots of targets whose outcomes wait to be recorded, and wakes the waiting task once.
    func land(_ hosts: some Sequence<String>) {
        change { state in
            for host in hosts {
                state.inFlight -= 1
                let held = state.hosts[host, default: 0] - 1
                state.hosts[host] = held > 0 ? held : nil
            }
        }
    }

    /// Notes that the outcomes of `count` targets were recorded.
    func write(_ count: Int) { change { $0.unwritten -= count } }

    /// Returns when nothing is in flight; only one task waits at a time.
    func waitUntilLanded() async {
        await landed.waitDespiteCancellation { state.withLock { $0.inFlight == 0 } }
    }

    private func change(_ body: (inout State) -> Void) {
        let (isFree, isIdle) = state.withLock { state in
            body(&state)
            return (state.awaitedHost.map(state.isFree) ?? false, state.inFlight == 0)
        }
        if isFree { freed.signal() }
        if isIdle { landed.signal() }
    }
}
