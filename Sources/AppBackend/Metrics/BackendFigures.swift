/// Numbers of rows in the database.
struct BackendFigures: Sendable, Equatable {
    var accounts = 0
    var tokens = 0
    var registrations = 0
    var installations = 0
    var payloadsWaiting = 0
    var payloadsFetched = 0
    /// Number of removed users whose devices the hub may still have.
    var removedOwners = 0
}

/// Reads the figures at most once in an interval: clients without credentials may ask for them.
actor FigureReader {
    private let store: BackendStore
    private let clock: BackendClock
    private let interval: Duration
    private var last: (figures: BackendFigures, at: Duration)?
    private var current: Task<BackendFigures, any Error>?

    init(store: BackendStore, clock: BackendClock, interval: Duration) {
        self.store = store
        self.clock = clock
        self.interval = interval
    }

    /// Figures no older than the interval.
    ///
    /// - Throws: The reason why the database cannot be read.
    func figures() async throws -> BackendFigures {
        let now = clock.monotonic()
        if let last, now - last.at < interval { return last.figures }
        if let current { return try await current.value }
        let task = Task { try await self.store.figures(at: self.clock.now()) }
        current = task
        defer { if current == task { current = nil } }
        let figures = try await task.value
        last = (figures, now)
        return figures
    }
}
