import HubStore

/// The reason why a replicated log cannot be used.
package enum ReplicatedLogError: LogEngineError, Equatable, CustomStringConvertible {
    /// The settings are wrong.
    case misconfigured([String])
    /// No server can be reached.
    case unreachable(String)
    /// A server has refused this node: its certificate, its credentials, or a right that it lacks.
    case rejected(String)
    /// Another process has this node's name.
    case nodeExists(node: String, other: String)
    /// The stream was not created by newswire.
    case notALog(stream: String)
    /// A later version of newswire has created the stream.
    case newerLog(stream: String)
    /// The log no longer exists.
    case removed(stream: String)
    /// The log was started again, so this node's database belongs to the former one.
    case restarted(stream: String)
    /// A node has left the log with its database, which serves alone since then.
    case closedLog(stream: String, node: String)
    /// Other nodes have written to the log that a node was about to end.
    case ahead(number: UInt64, position: UInt64)
    /// The servers have refused this node's connection again and again, so it is not retried any more.
    case closed
    /// The servers have no majority, no leader, or do not answer.
    case noAnswer(seconds: Int, reason: String)
    /// The servers refuse to store an entry, or to create the log.
    case engine(EngineError)
    /// A number in the middle of the log has no entry.
    case missing(number: UInt64)
    /// The log has given an entry another number than the expected one.
    case misplaced(number: UInt64, expected: UInt64)

    package var description: String {
        switch self {
        case .misconfigured(let problems): problems.joined(separator: "; ")
        case .unreachable(let reason): "cannot reach a server of the log: \(reason)"
        case .rejected(let reason): "a server of the log refuses this node: \(reason)"
        case .nodeExists(let node, let other):
            "cannot join the log as '\(node)': \(other) already has this name; give each node a name of its own"
        case .notALog(let stream): "stream '\(stream)' is not a newswire log: use another name for the log"
        case .newerLog(let stream):
            "a newer version of newswire has created the log '\(stream)': install that version here"
        case .removed(let stream): "the servers no longer have the stream '\(stream)': the log was deleted"
        case .restarted(let stream):
            """
            the log '\(stream)' was started again, and this hub's database belongs to the former one: copy the database \
            of a hub that follows the new log, with 'newswire hub backup' there and 'newswire hub restore' here
            """
        case .closedLog(let stream, let node):
            """
            the log '\(stream)' was closed by 'newswire hub log leave' on hub '\(node)', and this hub cannot follow it \
            any more: remove 'log-servers' from the configuration if this is hub '\(node)', or set another 'log-name'
            """
        case .ahead(let number, let position):
            """
            the log has \(number) entries, and this database has \(position) of them: other hubs still write; stop them
            """
        case .closed: "the log's servers refuse this node's connection for good: see their own logs"
        case .noAnswer(let seconds, let reason): "the log has not answered for \(seconds) s: \(reason)"
        case .engine(let error): "the servers of the log refuse a request: \(error.reason)"
        case .missing(let number): "entry \(number) is missing in the middle of the log"
        case .misplaced(let number, let expected):
            "the log has stored an entry as number \(number) instead of \(expected)"
        }
    }

    package var isFinal: Bool {
        switch self {
        case .notALog, .newerLog, .removed, .restarted, .closedLog, .closed, .missing, .misplaced: true
        case .misconfigured, .unreachable, .rejected, .nodeExists, .noAnswer, .engine, .ahead: false
        }
    }

    /// True if the error can clear without a change of settings or files.
    package var isTemporary: Bool {
        switch self {
        case .unreachable, .noAnswer, .nodeExists: true
        case .misconfigured, .rejected, .notALog, .newerLog, .removed, .restarted, .closedLog, .ahead, .closed, .engine,
            .missing, .misplaced:
            false
        }
    }
}

extension ReplicatedLogError {
    /// Names a fault of a connection that had just been made.
    init(_ fault: EngineFault) { self = fault == .closed ? .closed : .unreachable("\(fault)") }
}
