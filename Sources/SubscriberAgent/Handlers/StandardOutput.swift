import Dispatch
import Glibc
import Synchronization

/// Standard output; a reader that has stopped reading causes a time-out and does not block the agent.
package final class StandardOutput: HandlerOutput {
    /// Number of bytes that a pipe accepts without blocking if `poll` reports it as writable (`PIPE_BUF`, pipe(7)).
    private static let piece = 4_096
    /// Longest time until a stop of the agent is noticed, in milliseconds.
    private static let glance: Int32 = 100

    private let descriptor: Int32
    /// One queue, so that lines never mix, and a separate one, so that waiting blocks no task's thread.
    private let queue = DispatchQueue(label: "newswire.output")
    /// True if only a part of a line was written last.
    private let isMidLine = Mutex(false)

    package init(descriptor: Int32 = STDOUT_FILENO) { self.descriptor = descriptor }

    package func write(_ bytes: [UInt8], within limit: Duration) async throws(HandlerFailure) {
        let stop = StopFlag()
        let failure: HandlerFailure? = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                queue.async { continuation.resume(returning: self.writeLine(bytes, within: limit, unless: stop)) }
            }
        } onCancel: {
            stop.set()
        }
        if let failure { throw failure }
    }

    private func writeLine(_ bytes: [UInt8], within limit: Duration, unless stop: StopFlag) -> HandlerFailure? {
        isMidLine.withLock { isMidLine in
            // An unfinished line of an earlier try stays on its own line.
            let line = isMidLine ? [UInt8(ascii: "\n")] + bytes : bytes
            var rest = line[...]
            let failure = write(&rest, within: limit, unless: stop)
            isMidLine = rest.isEmpty ? false : isMidLine || rest.count < line.count
            return failure
        }
    }

    private func write(
        _ rest: inout ArraySlice<UInt8>,
        within limit: Duration,
        unless stop: StopFlag
    ) -> HandlerFailure? {
        let deadline = ContinuousClock.now + limit
        while !rest.isEmpty {
            if stop.isSet { return .stopped }
            guard ContinuousClock.now < deadline else { return .timedOut(limit) }
            var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&state, 1, Self.glance) > 0 else { continue }
            let written = rest.prefix(Self.piece).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if written >= 0 {
                rest = rest.dropFirst(written)
            } else if errno == EPIPE {
                return .outputClosed
            } else if errno != EINTR, errno != EAGAIN {
                return .failed("cannot write to standard output: \(String(cString: strerror(errno)))")
            }
        }
        return nil
    }
}

private final class StopFlag: Sendable {
    private let flag = Atomic(false)

    var isSet: Bool { flag.load(ordering: .relaxed) }

    func set() { flag.store(true, ordering: .relaxed) }
}
