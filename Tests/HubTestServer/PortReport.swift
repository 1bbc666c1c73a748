/// A server in the test's own process that reports the port on which it listens.
package enum PortReport {
    /// The server has ended without an error, or has reported no port within ``WaitLimit/duration``.
    package struct Missing: Error {
        package init() {}
    }

    /// Starts a server, and returns when it has reported its port.
    ///
    /// - Parameter serve: Runs the server until its task is cancelled; calls its argument with the port.
    /// - Returns: The port, and the server's task: cancel it and await it.
    /// - Throws: The server's error if it ends before it listens, else ``Missing``.
    package static func start(
        _ serve: @escaping @Sendable (_ report: @escaping @Sendable (Int) -> Void) async throws -> Void
    ) async throws -> (port: Int, server: Task<Void, any Error>) {
        let (ports, report) = AsyncStream<Int>.makeStream()
        let server = Task {
            defer { report.finish() }
            try await serve { report.yield($0) }
        }
        let limit = Task {
            try await Task.sleep(for: WaitLimit.duration)
            report.finish()
        }
        defer { limit.cancel() }
        var iterator = ports.makeAsyncIterator()
        if let port = await iterator.next() { return (port, server) }
        server.cancel()
        try await server.value
        throw Missing()
    }
}
