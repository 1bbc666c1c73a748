/// The connections to one host over HTTP/2, and the requests that wait for a place on them.
///
/// Confined to the loop's thread.
final class ConnectionPool {
    /// Number of times that a host may refuse a request without processing it (RFC 9113 §8.7).
    private static let maximumRefusals = 5
    /// Wait after a failed attempt to open one connection more.
    private static let pause = Duration.seconds(1)
    /// Time after which a host without HTTP/2 may have learnt it; a connection can also have failed by chance.
    private static let fallbackTime = Duration.seconds(600)
    /// Waits after a host has refused requests without processing them; they double while it refuses all.
    private static let (shortestWait, longestWait) = (Duration.milliseconds(10), Duration.seconds(2))

    /// The request that the connections were first opened for; all others have the same host, proxy and policy.
    private let plan: TransferPlan
    private(set) var connections: [HTTP2Connection] = []
    private(set) var opening: ConnectionOpening?
    private var waiting = FirstInFirstOut<BatchRequest>()
    private var waitingCount = 0
    private var answers: [BatchAnswer] = []
    private var opensAgainAt: ContinuousClock.Instant?
    /// Time until which no request is begun, since the host refuses them.
    private var beginsAgainAt: ContinuousClock.Instant?
    /// Turns in which the host has refused requests, since its last answer.
    private var refusals = 0
    /// Time by which the host must have said that it speaks HTTP/2, for each connection that is new.
    private var settingsDeadlines: [ObjectIdentifier: ContinuousClock.Instant] = [:]
    /// Time until which the host counts as one without HTTP/2: after a connection on which it has not spoken it.
    private var lacksHTTP2Until: ContinuousClock.Instant?

    /// Time after which a silent host is asked whether it is there.
    private let silence: Duration

    init(_ plan: TransferPlan, silence: Duration) { (self.plan, self.silence) = (plan, silence) }

    /// True if requests with this plan can be sent over HTTP/2, should their host speak it.
    static func canServe(_ plan: TransferPlan) -> Bool {
        guard ProtocolOffer.isPossible, plan.address.scheme == "https", !plan.options.isStream, !plan.followsRedirects,
            plan.options.method != "HEAD", plan.address.user == nil, plan.idleTimeout == nil
        else { return false }
        // The protocol would be offered to the proxy as well.
        return plan.options.proxy?.hasPrefix("https:") != true
    }

    func serves(_ other: TransferPlan) -> Bool {
        plan.address.origin == other.address.origin && plan.options.proxy == other.options.proxy
            && plan.options.authorities == other.options.authorities && plan.addresses == other.addresses
            && plan.options.clientCertificate == other.options.clientCertificate
    }

    /// True if no request waits or is under way.
    var isIdle: Bool { waitingCount == 0 && connections.allSatisfy { $0.openCount == 0 } }

    /// True if nothing would be lost with the pool.
    func isSpent(at now: ContinuousClock.Instant) -> Bool {
        isIdle && connections.isEmpty && opening == nil && !lacksHTTP2(at: now)
    }

    /// True if the host does not speak HTTP/2.
    func lacksHTTP2(at now: ContinuousClock.Instant) -> Bool { lacksHTTP2Until.map { now < $0 } ?? false }

    /// Number of connections that there are or will be.
    ///
    /// A connection that the host ends counts no more, even while it waits for an answer.
    var connectionCount: Int { connections.count { !$0.isRetired } + (opening == nil ? 0 : 1) }

    /// The earliest time at which something may have to be done for requests that were begun.
    var nextDeadline: ContinuousClock.Instant? {
        (connections.map(\.nextDeadline) + [beginsAgainAt]).compactMap(\.self).min()
    }

    // MARK: - Requests

    func enqueue(_ work: BatchWork) {
        for index in work.batch.targets.indices { enqueue(BatchRequest(work: work, index: index)) }
    }

    private func enqueue(_ request: BatchRequest) {
        waiting.append(request)
        waitingCount += 1
    }

    private func nextWaiting() -> BatchRequest? {
        let request = waiting.popFirst()
        if request != nil { waitingCount -= 1 }
        return request
    }

    /// Returns the requests that wait.
    func takeWaiting() -> [BatchRequest] {
        var requests: [BatchRequest] = []
        while let request = nextWaiting() { requests.append(request) }
        return requests
    }

    private func failWaiting(_ error: OutboundError) {
        answers += takeWaiting().map { $0.answer(.failure(error)) }
    }

    /// Begins requests on the connections, the first ones first; `limit` is the number on one connection.
    private func beginRequests(limit: Int, at now: ContinuousClock.Instant) {
        if let beginsAgainAt, now < beginsAgainAt { return }
        beginsAgainAt = nil
        for connection in connections {
            var room = connection.room(limit: limit)
            while room > 0, let request = nextWaiting() {
                if !connection.begin(request, at: now) {
                    enqueue(request)
                    break
                }
                room -= 1
            }
        }
    }

    /// Takes no further requests on the present connections.
    func retireAll() { for connection in connections { connection.retire() } }

    // MARK: - Turns

    /// Reads what has arrived, begins requests and writes.
    ///
    /// - Returns: The answers since the last turn.
    func advance(
        _ buffer: UnsafeMutableRawBufferPointer,
        limit: Int,
        at now: ContinuousClock.Instant
    ) -> [BatchAnswer] {
        var hasRefused = false
        for connection in connections {
            if !connection.receive(buffer, at: now) { lose(connection, at: now) }
            for request in connection.takeRefused() {
                hasRefused = true
                refuse(request)
            }
            if connection.hasAnswers { refusals = 0 }
        }
        if hasRefused {
            beginsAgainAt = now + min(Self.shortestWait * (1 << min(refusals, 10)), Self.longestWait)
            refusals += 1
        }
        beginRequests(limit: limit, at: now)
        for connection in connections {
            if !connection.flush() {
                lose(connection, at: now)
            } else if connection.isRetired, connection.openCount == 0 {
                remove(connection)
            }
        }
        answers += connections.flatMap { $0.takeAnswers() }
        defer { answers = [] }
        return answers
    }

    private func refuse(_ request: BatchRequest) {
        var request = request
        request.refusals += 1
        if request.refusals < Self.maximumRefusals { return enqueue(request) }
        let reason = "it has refused the request \(request.refusals) times without processing it"
        answers.append(request.answer(.failure(.unreachable(host: plan.address.displayHost, reason: reason))))
    }

    /// Removes a connection that has ended.
    private func lose(_ connection: HTTP2Connection, at now: ContinuousClock.Instant) {
        remove(connection)
        guard !connection.isReady else { return }
        // A host that speaks HTTP/2 sends its settings first (RFC 9113 §3.4).
        let reason = "it chose HTTP/2, and the connection ended or was silent before its settings"
        failOpening(.unreachable(host: plan.address.displayHost, reason: reason), at: now)
    }

    /// Removes a connection, and ends its requests.
    private func remove(_ connection: HTTP2Connection, _ error: OutboundError? = nil) {
        connection.sayFarewell()
        connection.end(error)
        answers += connection.takeAnswers()
        for request in connection.takeRefused() { refuse(request) }
        connections.removeAll { $0 === connection }
        settingsDeadlines[ObjectIdentifier(connection)] = nil
    }

    /// Ends requests and new connections that have timed out.
    ///
    /// - Returns: The time of the next timeout; `nil` if there is none.
    func expire(at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        var deadlines = connections.compactMap { $0.expire(at: now) }
        for connection in connections where connection.isDead { remove(connection) }
        for connection in connections where !connection.isReady {
            guard let deadline = settingsDeadlines[ObjectIdentifier(connection)] else { continue }
            if deadline <= now { lose(connection, at: now) } else { deadlines.append(deadline) }
        }
        for request in takeWaiting() {
            if let deadline = request.work.plan.deadline, deadline <= now {
                answers.append(request.answer(.failure(timedOut(request))))
            } else {
                deadlines += [request.work.plan.deadline].compactMap(\.self)
                enqueue(request)
            }
        }
        deadlines += [opensAgainAt, beginsAgainAt].compactMap(\.self)
        return deadlines.min()
    }

    private func timedOut(_ request: BatchRequest) -> OutboundError {
        .timedOut(
            host: plan.address.displayHost,
            stage: connections.isEmpty ? .connecting : .queueing,
            after: request.work.plan.waitLimit
        )
    }

    // MARK: - Connections

    /// Starts to open a connection if requests wait that have no place on the others.
    func openConnection(upTo maximum: Int, for loop: TransferLoop, at now: ContinuousClock.Instant) {
        let usable = connections.count { !$0.isRetired }
        guard waitingCount > 0, opening == nil, !lacksHTTP2(at: now), usable < maximum,
            connections.allSatisfy({ $0.isReady || $0.isRetired }), opensAgainAt.map({ $0 <= now }) ?? true
        else { return }
        opensAgainAt = nil
        do throws(OutboundError) {
            let opening = try ConnectionOpening(plan)
            try opening.start(for: loop)
            self.opening = opening
        } catch {
            failOpening(error, at: now)
        }
    }

    /// Takes the connection of an attempt that has ended.
    ///
    /// - Returns: The time by which the host must show that it speaks HTTP/2, or another attempt is made.
    func take(_ opening: ConnectionOpening, at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        self.opening = nil
        if let failure = opening.failure { return failOpening(failure, at: now) }
        guard opening.speaksHTTP2 else {
            // Another protocol was chosen, or none: the preface would be an error of ours (RFC 9113 §3.3).
            lacksHTTP2Until = now + Self.fallbackTime
            return nil
        }
        guard let connection = HTTP2Connection(opening, silence: silence, at: now) else {
            return failOpening(.unreachable(host: opening.host, reason: "out of memory"), at: now)
        }
        connections.append(connection)
        let deadline = now + plan.options.connectTimeout
        settingsDeadlines[ObjectIdentifier(connection)] = deadline
        return deadline
    }

    @discardableResult
    private func failOpening(_ error: OutboundError, at now: ContinuousClock.Instant) -> ContinuousClock.Instant? {
        guard connections.contains(where: { !$0.isRetired }) else {
            failWaiting(error)
            return nil
        }
        opensAgainAt = now + Self.pause
        return opensAgainAt
    }

    /// Closes the connections, and ends all requests.
    ///
    /// - Returns: The answers to them.
    func close() -> [BatchAnswer] {
        opening?.giveUp()
        for connection in connections { remove(connection, .shutDown) }
        failWaiting(.shutDown)
        return answers
    }
}
