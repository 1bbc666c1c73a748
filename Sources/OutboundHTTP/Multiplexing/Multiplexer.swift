import CCurl

/// Sends the requests of batches over HTTP/2, on connections that nothing else uses.
///
/// Confined to the loop's thread.
final class Multiplexer {
    private static let readBytes = 65_536

    private let loop: TransferLoop
    private let limits: TransferLoop.Limits
    private var pools: [ConnectionPool] = []
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: readBytes, alignment: 1)
    /// Time before which no request is overdue.
    private(set) var nextDeadline: ContinuousClock.Instant?
    private var answers: [BatchAnswer] = []

    init(_ loop: TransferLoop, _ limits: TransferLoop.Limits) {
        self.loop = loop
        self.limits = limits
    }

    deinit { buffer.deallocate() }

    /// True if no request waits or is under way.
    var isIdle: Bool { pools.allSatisfy(\.isIdle) }

    /// True if the thread must not wait: bytes may have arrived for which no socket wakes it.
    var hasMore: Bool { pools.contains { $0.connections.contains(where: \.hasMore) } }

    /// The sockets to watch, and for what.
    var descriptors: [curl_waitfd] {
        pools.flatMap(\.connections).map { connection in
            let events = CURL_WAIT_POLLIN | (connection.wantsToWrite ? CURL_WAIT_POLLOUT : 0)
            return curl_waitfd(fd: connection.socket, events: Int16(events), revents: 0)
        }
    }

    /// Takes a batch.
    ///
    /// - Returns: False if its requests cannot be sent over HTTP/2.
    func start(_ batch: TransferBatch) -> Bool {
        let plan = batch.plan
        guard ConnectionPool.canServe(plan) else { return false }
        let now = ContinuousClock.now
        let pool = pool(for: plan, at: now)
        guard !pool.lacksHTTP2(at: now) else { return false }
        if plan.options.opensConnection { pool.retireAll() }
        pool.enqueue(BatchWork(batch))
        noteDeadline(plan.deadline)
        return true
    }

    private func pool(for plan: TransferPlan, at now: ContinuousClock.Instant) -> ConnectionPool {
        if let pool = pools.first(where: { $0.serves(plan) }) { return pool }
        pools.removeAll { $0.isSpent(at: now) }
        let pool = ConnectionPool(plan, silence: limits.silence)
        pools.append(pool)
        return pool
    }

    func opened(_ opening: ConnectionOpening) {
        let pool = pools.first { $0.opening === opening }
        noteDeadline(pool?.take(opening, at: .now))
    }

    /// Reads what has arrived, begins requests, and writes.
    ///
    /// - Returns: Requests to hosts that turned out not to speak HTTP/2.
    func advance() -> [BatchRequest] {
        guard !pools.isEmpty else { return [] }
        let now = ContinuousClock.now
        if let due = nextDeadline, due <= now {
            nextDeadline = pools.compactMap { $0.expire(at: now) }.min()
        }
        var fallbacks: [BatchRequest] = []
        for pool in pools {
            answers += pool.advance(buffer, limit: limits.streamsPerConnection, at: now)
            noteDeadline(pool.nextDeadline)
            if pool.lacksHTTP2(at: now) { fallbacks += pool.takeWaiting() }
            let others = pools.reduce(0) { $0 + ($1 === pool ? 0 : $1.connectionCount) }
            let maximum = min(limits.multiplexedConnectionsPerOrigin, max(1, limits.maximumConnections - others))
            pool.openConnection(upTo: maximum, for: loop, at: now)
        }
        return fallbacks
    }

    func takeAnswers() -> [BatchAnswer] {
        defer { answers = [] }
        return answers
    }

    /// Closes all connections, and ends all requests.
    func close() {
        answers += pools.flatMap { $0.close() }
        pools = []
    }

    private func noteDeadline(_ deadline: ContinuousClock.Instant?) {
        guard let deadline else { return }
        nextDeadline = min(nextDeadline ?? deadline, deadline)
    }
}
