import ArgumentParser
import Foundation
import HostSystem

/// What the program says to people: on standard error, lower case, prefixed; data alone goes to standard output.
enum Console {
    static func error(_ text: String) { say("error", text) }
    static func warning(_ text: String) { say("warning", text) }
    static func hint(_ text: String) { say("hint", text) }
    static func notice(_ text: String) { writeLine("newswire: \(text)", to: .standardError) }

    /// Prints a line of data.
    ///
    /// A reader that has gone away ends the program quietly.
    static func print(_ line: String) {
        writeLine(line, to: .standardOutput)
    }

    static var isInteractive: Bool { isatty(STDERR_FILENO) == 1 }

    private static func say(_ kind: String, _ text: String) {
        writeLine("newswire: \(kind): \(text)", to: .standardError)
    }

    private static func writeLine(_ line: String, to handle: FileHandle) {
        do {
            try handle.write(contentsOf: Data((line + "\n").utf8))
        } catch {
            // EPIPE: nobody reads any more. Nothing can be said about it, and nothing is wrong.
            Foundation.exit(handle === FileHandle.standardOutput ? 0 : 1)
        }
    }
}

/// The exit codes of the program, after `sysexits.h`.
enum ExitStatus: Int32 {
    case failed = 1
    case usage = 64
    case hubUnreachable = 69
    case tryLater = 75
    case badConfiguration = 78
}

/// A failure that is said in one line and ends the program.
struct Failure: Error {
    let status: ExitStatus
    let text: String
    let hint: String?

    init(_ status: ExitStatus, _ text: String, hint: String? = nil) {
        self.status = status
        self.text = text
        self.hint = hint
    }
}

/// Runs a subcommand, saying what goes wrong the way all of them do.
func reportingFailures(_ work: () async throws -> Void) async throws {
    do {
        try await work()
    } catch let failure as Failure {
        Console.error(failure.text)
        if let hint = failure.hint { Console.hint(hint) }
        throw ExitCode(failure.status.rawValue)
    } catch let error as HostError {
        Console.error("\(error)")
        throw ExitCode((error.isTemporary ? ExitStatus.tryLater : .badConfiguration).rawValue)
    } catch let code as ExitCode {
        throw code
    } catch is CancellationError {
        // A signal asked for the end.
    } catch {
        Console.error("\(error)")
        throw ExitCode.failure
    }
}
