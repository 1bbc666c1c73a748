import NIOCore

/// Computes a page at most once in an interval, however many ask for it: they share the last one.
///
/// Anybody may ask for `/metrics`, and computing it looks at every stream.
actor SharedPage {
    private let interval: Duration
    private let clock: @Sendable () -> Duration
    private let compute: @Sendable () async throws -> ByteBuffer
    private var last: (bytes: ByteBuffer, at: Duration)?
    private var current: Task<ByteBuffer, any Error>?

    /// Creates a page that was not computed yet, and may be as old as `interval`; zero computes it for every request.
    init(
        interval: Duration,
        clock: @escaping @Sendable () -> Duration,
        compute: @escaping @Sendable () async throws -> ByteBuffer
    ) {
        self.interval = interval
        self.clock = clock
        self.compute = compute
    }

    /// The page, which is not older than the interval.
    ///
    /// - Throws: Why it could not be computed; the next request tries again.
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
