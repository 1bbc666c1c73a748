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
        "NEWSWIRE_STORY", "NEWSWIRE_STATUS", "NEWSWIRE_REPLACES", "NEWSWIRE_SUPERSEDED", "NEWSWIRE_REDELIVERY",
        "NEWSWIRE_GAP",
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
    /// The reader of standard output is gone, so all further output would be lost, too.
    case outputClosed
    case failed(String)
    /// The agent was stopped and did not wait for the handler.
    case stopped

    package var reason: String {
        switch self {
        case .timedOut(let limit): "not done within \(limit.components.seconds) s"
        case .outputClosed: "standard output was closed"
        case .failed(let reason): reason
        case .stopped: "the agent was stopped"
        }
    }
}

/// The destination of lines from handlers that print.
package protocol HandlerOutput: Sendable {
    /// Returns when the system has all of `bytes`, or throws ``HandlerFailure/timedOut(_:)`` after `limit`.
    func write(_ bytes: [UInt8], within limit: Duration) async throws(HandlerFailure)
}
