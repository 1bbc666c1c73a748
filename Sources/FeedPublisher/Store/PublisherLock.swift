package import HostSystem

/// Keeps two publishers from working on one store.
package enum PublisherLock {
    /// Duration after which a running pass is reported: it is stuck, or the timer fires too often.
    ///
    /// A publisher that keeps running renews the lock's age while it works (``FileLock/refresh()``): another pass is
    /// then unnecessary, but not an error.
    package static let longPass: Duration = .seconds(10 * 60)

    package enum Attempt: Sendable {
        /// Keep the lock until the pass has ended.
        case acquired(FileLock)
        /// Another publisher is running: end with this status, and print the line if there is one.
        case busy(exit: ExitStatus, line: PublishLine?)
    }

    /// Tries to become the only publisher.
    ///
    /// - Parameters:
    ///   - path: The lock file, beside the store.
    ///   - isWatched: True if a person watches: standard error is a terminal.
    /// - Returns: The lock, or the exit status and line for ending without it.
    /// - Throws: ``HostError`` if the file cannot be created.
    package static func acquire(_ path: String, isWatched: Bool) throws -> Attempt {
        if let lock = try FileLock.acquire(path) { return .acquired(lock) }
        let age = FileLock.heldFor(path)
        if !isWatched, let age, age < longPass { return .busy(exit: .done, line: nil) }
        let minutes = age.map { $0.components.seconds / 60 } ?? 0
        let since = minutes > 0 ? " (for \(minutes) min)" : ""
        return .busy(
            exit: .tryLater,
            line: PublishLine(
                .warning,
                "another publisher is running\(since): it holds '\(path)'; nothing was done",
                hint: .longRun
            )
        )
    }
}
