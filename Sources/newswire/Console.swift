import Foundation
import Glibc
import HostSystem

/// Messages for people, on standard error, in lower case and with a prefix.
///
/// Only data goes to standard output. Every message is one line without control characters, since parts of it may
/// come from hubs and feeds.
enum Console {
    static func error(_ text: String) { say("error: \(text)") }
    static func warning(_ text: String) { say("warning: \(text)") }
    static func hint(_ text: String) { say("hint: \(text)") }
    static func notice(_ text: String) { say(text) }

    /// Prints a line of data; exits if standard output cannot be written to.
    static func print(_ line: String) {
        do {
            try write(line)
        } catch let failure as Failure {
            error(failure.text)
            exit(failure.status.rawValue)
        } catch {
            exit(0)
        }
    }

    /// Prints a line of data, for callers that must clean up before the program exits.
    ///
    /// - Throws: ``OutputClosed`` if the reader closed the pipe, ``Failure`` if the line cannot be written for another
    /// reason.
    static func write(_ line: String) throws {
        let code = put(line, STDOUT_FILENO)
        if code == 0 { return }
        if StandardStream.isGone(STDOUT_FILENO, code) { throw OutputClosed() }
        let error = HostError("cannot write to", "standard output", code: code)
        throw Failure(error.isTemporary ? .tryLater : .failed, "\(error)")
    }

    /// Asks a question, and waits for a line of standard input.
    ///
    /// - Returns: The line without its end; `nil` if standard input has ended.
    static func ask(_ question: String) -> String? {
        _ = put("newswire: \(TerminalText.safe(question))", STDERR_FILENO, end: "")
        return readLine()
    }

    static var isInteractive: Bool { isatty(STDERR_FILENO) == 1 }

    /// Prints a line, and ignores errors: they cannot be reported anywhere.
    private static func say(_ text: String) { _ = put("newswire: \(TerminalText.safe(text))", STDERR_FILENO) }

    /// - Returns: `errno`; 0 if everything was written.
    private static func put(_ line: String, _ descriptor: Int32, end: String = "\n") -> Int32 {
        var rest = Array((line + end).utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&state, 1, -1)
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}

/// The reader of standard output closed it; the program ends without an error.
struct OutputClosed: Error {}
