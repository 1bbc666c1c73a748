import Glibc

/// Requests to end this process, as values instead of an abrupt end.
package enum TerminationSignals {
    /// SIGTERM and SIGINT as they arrive.
    ///
    /// The first asks for an orderly end; the reader decides what a second one means. From this call until the last
    /// such stream ends, the signals have no other effect; programs that we start get the default back.
    package static func stream(_ numbers: [Int32] = [SIGTERM, SIGINT]) -> AsyncStream<Int32> {
        AsyncStream(bufferingPolicy: .bufferingNewest(maximumPending)) { continuation in
            let listener = SignalRelay.shared.add(numbers) { continuation.yield($0) }
            continuation.onTermination = { _ in SignalRelay.shared.remove(listener) }
        }
    }

    /// Makes a closed pipe or socket, and a file that may not grow, an error of the call that wrote to it.
    ///
    /// Programs that we start get the default back (``ChildProcess``).
    package static func ignoreWriteSignals() {
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
    }

    /// Lets SIGTERM and SIGINT end this process before, between and after the streams of them.
    ///
    /// Without a handler they do that to every process but the first one of a container, for which the kernel ignores
    /// them (pid_namespaces(7)).
    package static func endFirstProcess() {
        guard getpid() == 1 else { return }
        for number in [SIGTERM, SIGINT] { SignalRelay.restoreEffect(of: number) }
    }

    /// Ignores SIGHUP, which asks daemons to read their files again.
    package static func ignoreHangUps() {
        signal(SIGHUP, SIG_IGN)
    }

    /// Maximum number of signals that wait for a slow reader; more of them add nothing.
    private static let maximumPending = 8
}
