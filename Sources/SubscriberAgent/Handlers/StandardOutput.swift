import Dispatch
import Glibc
import HostSystem
import Signals
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
    /// The line of which only a part was written last.
    private let unfinished = Mutex<(line: [UInt8], written: Int)?>(nil)

    package init(descriptor: Int32 = STDOUT_FILENO) { self.descriptor = descriptor }

    /// Makes an output that has written a part of a line, for tests.
    init(descriptor: Int32, havingWritten count: Int, of line: [UInt8]) {
        self.descriptor = descriptor
        unfinished.withLock { $0 = (line, count) }
    }

    package func write(_ bytes: [UInt8], within limit: Duration) async throws(HandlerFailure) {
        let stop = StopFlag()
        let failure: HandlerFailure? = await withTaskCancellationHandler {
            await queue.run { self.writeLine(bytes, within: limit, unless: stop) }
        } onCancel: {
            stop.set()
        }
        if let failure { throw failure }
    }

    private func writeLine(_ bytes: [UInt8], within limit: Duration, unless stop: StopFlag) -> HandlerFailure? {
        unfinished.withLock { unfinished in
            var line = bytes
            var rest = line[...]
            if let begun = unfinished {
                if begun.line == bytes, !StandardStream.isFile(descriptor) {
                    rest = rest.dropFirst(begun.written)
                } else {
                    // The part stays on its own line. A file may have been truncated meanwhile, and then needs the whole.
                    line.insert(UInt8(ascii: "\n"), at: 0)
                    rest = line[...]
                }
            }
            let before = rest.count
            let failure = write(&rest, within: limit, unless: stop)
            if rest.isEmpty {
                unfinished = nil
            } else if rest.count < before {
                unfinished = (bytes, max(0, bytes.count - rest.count))
            }
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
            guard ContinuousClock.now < deadline else { return .outputStalled(limit) }
            var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
            guard poll(&state, 1, Self.glance) > 0 else { continue }
            let written = rest.prefix(Self.piece).withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            let code = errno
            if written >= 0 {
                rest = rest.dropFirst(written)
            } else if StandardStream.isGone(descriptor, code) || code == EBADF {
                return .outputClosed
            } else if code != EINTR, code != EAGAIN {
                return .blocked(HostError("cannot write to", "standard output", code: code))
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
