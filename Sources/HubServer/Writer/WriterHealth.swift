import HubProtocol
import HubStore
import Logging
import SQLiteFiles
import Synchronization

/// The reasons why a hub cannot write its file, or follow the log that it shares; each change is logged once.
///
/// A node that cannot follow lacks news, whether its log or its own disk is the cause, while other nodes accept more.
final class WriterHealth: Sendable {
    enum Part {
        /// Commits to this node's file.
        case file
        /// Reading and appending to the log that nodes share.
        case log
    }

    private struct Failure {
        let reason: String
        let since: ContinuousClock.Instant
    }

    private struct State {
        var file: Failure?
        var log: Failure?
        var final: OrderedLogError?
    }

    private let logger: Logger
    private let state = Mutex(State())

    init(_ logger: Logger) { self.logger = logger }

    /// The reason why the last commit failed, or why this node cannot follow the log; `nil` while both succeed.
    var failureReason: String? { state.withLock { ($0.log ?? $0.file)?.reason } }

    /// The time from which this node has not been able to follow the log; `nil` while it can.
    var cutOffSince: ContinuousClock.Instant? { state.withLock { $0.log?.since } }

    /// The reason why this node cannot follow the log any more, and must stop.
    var finalFailure: OrderedLogError? { state.withLock { $0.final } }

    /// The answer to changes and reads while this node cannot follow the log.
    var refusal: ProtocolError? { state.withLock { $0.log }.map { Self.refusal($0.reason, of: .log) } }

    /// Notes a failure of an attempt that began at `since`, or with `nil` a success.
    ///
    /// - Returns: The answer to those who waited for it.
    @discardableResult
    func note(_ error: (any Error)?, of part: Part, since: ContinuousClock.Instant = .now) -> ProtocolError? {
        let reason = error.map(DatabaseFileError.reason)
        let former = state.withLock { state in
            if let error = error as? OrderedLogError, error.isFinal { state.final = error }
            let former = part == .file ? state.file : state.log
            let failure = reason.map { Failure(reason: $0, since: former?.since ?? since) }
            if part == .file { state.file = failure } else { state.log = failure }
            return former
        }
        // While a log's servers are away, their errors vary: that is not a change to report.
        let isNews = part == .file ? former?.reason != reason : (former == nil) != (reason == nil)
        if isNews { say(reason, part) }
        return reason.map { Self.refusal($0, of: part) }
    }

    private func say(_ reason: String?, _ part: Part) {
        guard let reason else {
            logger.notice(part == .file ? "the hub writes its file again" : "the hub follows its log again")
            return
        }
        logger.error(
            part == .file
                ? "the hub cannot write its file; senders are asked to try again"
                : "the hub cannot follow its log; senders and agents are asked to try another node",
            metadata: ["error.reason": "\(reason)"]
        )
    }

    static func refusal(_ error: any Error, of part: Part) -> ProtocolError {
        refusal(DatabaseFileError.reason(error), of: part)
    }

    private static func refusal(_ reason: String, of part: Part) -> ProtocolError {
        .unavailable("The hub cannot \(part == .file ? "write its file" : "follow its log"): \(reason).")
    }
}
