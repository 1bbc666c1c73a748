package import HostSystem
import Settings

/// The handling of each row of the inbox.
package enum InboxHandler: Sendable, Equatable {
    /// Print a line for people.
    case print
    /// Print one JSON object per line.
    case json
    /// Run a program for each row, never through a shell.
    ///
    /// Only the given arguments are passed, and no part of the message: a title that begins with `-` would be an
    /// option. The message is in the environment (``variables``), and on standard input as the JSON object of ``json``.
    case exec(program: String, arguments: [String] = [])

    /// Variables that a program may find in its environment.
    package static let variables = [
        "NEWSWIRE_ID", "NEWSWIRE_TITLE", "NEWSWIRE_MESSAGE", "NEWSWIRE_LINK", "NEWSWIRE_CATEGORY", "NEWSWIRE_BODY",
        "NEWSWIRE_STORY", "NEWSWIRE_STATUS", "NEWSWIRE_REPLACES", "NEWSWIRE_SUPERSEDED", "NEWSWIRE_SAME_AS",
        "NEWSWIRE_REDELIVERY", "NEWSWIRE_GAP",
    ]
}

/// Limits of one row's handling.
package struct HandlerLimits: Sendable {
    /// Maximum duration of one attempt.
    package var timeout = AgentSettings.handlerTimeout.fallback
    /// The waits between attempts; there is one more attempt than waits.
    package var waits = [Duration.seconds(1), .seconds(5)]
    /// Time for which a stop waits for the handler in progress before ending it; its row is then redelivered.
    package var drain = Duration.seconds(10)

    package var tries: Int { waits.count + 1 }

    package init() {}
}

/// The reason why one attempt of a handler failed.
package enum HandlerFailure: Error, Sendable, Equatable {
    case timedOut(Duration)
    /// The reader of standard output, or its terminal, is gone, so all further output would be lost, too.
    case outputClosed
    /// This machine could not pass on any message now: standard output cannot be written, or the program not started.
    case blocked(HostError)
    /// The reader of standard output has accepted nothing for this time.
    case outputStalled(Duration)
    case failed(String)
    /// The agent was stopped and did not wait for the handler.
    case stopped

    package var reason: String {
        switch self {
        case .timedOut(let limit): "not done within \(limit.components.seconds) s"
        case .outputClosed: "standard output was closed"
        case .blocked(let error): "\(error.attempt) '\(TerminalText.safe(error.subject))': \(error.reason)"
        case .outputStalled(let limit): "standard output has not been read for \(limit.components.seconds) s"
        case .failed(let reason): reason
        case .stopped: "the agent was stopped"
        }
    }
}

extension HandlerFailure: ObstacleError {
    /// An obstacle is a reason that has nothing to do with the message: its tries are not used up.
    var obstacle: Obstacle? {
        switch self {
        case .blocked(let error): Obstacle(reason: reason, hint: error.isOfSpace ? .outputSpace : nil)
        case .outputStalled: Obstacle(reason: reason, hint: nil)
        case .timedOut, .outputClosed, .failed, .stopped: nil
        }
    }
}

/// The destination of lines from handlers that print.
package protocol HandlerOutput: Sendable {
    /// Returns when the system has all of `bytes`, or throws ``HandlerFailure/outputStalled(_:)`` after `limit`.
    ///
    /// Another call with the same bytes continues, or repeats them.
    func write(_ bytes: [UInt8], within limit: Duration) async throws(HandlerFailure)
}
