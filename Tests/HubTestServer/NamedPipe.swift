import Glibc

/// A named pipe through which a program that a test has started reports something.
///
/// The test's end is open from the start: the program never waits for it.
package final class NamedPipe: Sendable {
    package struct CreationError: Error {
        package let code: Int32
    }

    package let path: String
    private let descriptor: Int32

    /// Creates a pipe that only this user can open.
    package init(_ path: String) throws(CreationError) {
        self.path = path
        guard mkfifo(path, 0o600) == 0 else { throw CreationError(code: errno) }
        descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard descriptor >= 0 else { throw CreationError(code: errno) }
    }

    deinit { close(descriptor) }

    /// The text that programs have written when the last one has closed the pipe, or after ``WaitLimit/duration``.
    package func text(file: String = #fileID, line: Int = #line) async -> String {
        let (text, hasEnded) = await withCheckedContinuation {
            (continuation: CheckedContinuation<(String, hasEnded: Bool), Never>) in
            BlockingThread.start { continuation.resume(returning: self.read()) }
        }
        if !hasEnded { WaitLimit.ranOut("writer of '\(path)'", file, line) }
        return text
    }

    private func read() -> (String, hasEnded: Bool) {
        var text: [UInt8] = []
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let deadline = ContinuousClock.now + WaitLimit.duration
        while ContinuousClock.now < deadline {
            // Without a writer so far there is nothing to report, not even an end.
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 1_000) > 0 else { continue }
            let count = Glibc.read(descriptor, &bytes, bytes.count)
            if count > 0 { text += bytes.prefix(count) }
            if count == 0 { return (String(decoding: text, as: UTF8.self), true) }
        }
        return (String(decoding: text, as: UTF8.self), false)
    }
}
