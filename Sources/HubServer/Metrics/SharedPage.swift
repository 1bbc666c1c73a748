import NIOCore

/// Computes a page at most once per interval, and shares the result between all requests.
///
/// Anyone may request `/metrics`, and computing it reads every stream's state.
actor SharedPage {
    private let interval: Duration
    private let clock: @Sendable () -> Duration
    private let compute: @Sendable () async throws -> ByteBuffer
    private var last: (bytes: ByteBuffer, at: Duration)?
    private var current: Task<ByteBuffer, any Error>?

    /// Creates a page without a result yet, which may be as old as `interval`; zero computes it for every request.
    init(
        interval: Duration,
        clock: @escaping @Sendable () -> Duration,
        compute: @escaping @Sendable () async throws -> ByteBuffer
    ) {
        self.interval = interval
        self.clock = clock
        self.compute = compute
    }

    /// The page, no older than the interval.
    ///
    /// - Throws: The error of the computation; the next request tries again.
    func bytes() async throws -> ByteBuffer {
        let now = clock()
        if let last, now - last.at < interval { return last.bytes }
        if let current, interval > .zero { return try await current.value }
        let task = Task { try await compute() }
        current = task
        defer { if current == task { current = nil } }
        let bytes = try await task.value
        last = (bytes, now)
        return bytes
    }
}
