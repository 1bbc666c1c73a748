import Settings

/// The handling of each row of the inbox.
package enum InboxHandler: Sendable, Equatable {
    /// A line for people.
    case print
    /// One JSON object a line.
    case json
    /// A program for each row, never through a shell.
    ///
    /// Its arguments are the given ones and nothing of the message: a title that begins with `-` would be an option. The
    /// message comes in the environment (``variables``), and as the JSON object of ``json`` on standard input.
    case exec(program: String, arguments: [String] = [])

    /// Variables that a program may find in its environment.
    package static let variables = [
        "NEWSWIRE_ID", "NEWSWIRE_TITLE", "NEWSWIRE_MESSAGE", "NEWSWIRE_LINK", "NEWSWIRE_CATEGORY", "NEWSWIRE_BODY",
        "NEWSWIRE_STORY", "NEWSWIRE_STATUS", "NEWSWIRE_REPLACES", "NEWSWIRE_SUPERSEDED", "NEWSWIRE_REDELIVERY",
        "NEWSWIRE_GAP",
    ]
}

/// Bounds of one row's handling.
package struct HandlerLimits: Sendable {
    /// Time for one try.
    package var timeout = AgentSettings.handlerTimeout.fallback
    /// The waits between tries; one more try than waits.
    package var waits = [Duration.seconds(1), .seconds(5)]
    /// Time that a stop waits for the handler in progress before it ends the handler, whose row is then redelivered.
    package var drain = Duration.seconds(10)

    package var tries: Int { waits.count + 1 }

    package init() {}
}

/// Why one try of a handler came to nothing.
package enum HandlerFailure: Error, Sendable, Equatable {
    case timedOut(Duration)
    /// The reader of our output is gone; whatever comes next would be lost too.
    case outputClosed
    case failed(String)
    /// The agent was stopped and did not wait any longer.
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

/// Where handlers that print put their lines.
package protocol HandlerOutput: Sendable {
    /// Returns once all of `bytes` is with the system, or throws ``HandlerFailure/timedOut(_:)`` after `limit`.
    func write(_ bytes: [UInt8], within limit: Duration) async throws(HandlerFailure)
}
