import HubStore
import Logging

/// Lets a node of a new version wait until no node of an earlier schema is left, and then changes the log to its schema.
///
/// A node that waits follows the log and serves nobody. Its database keeps the earlier schema, so that the earlier
/// version can be installed again.
struct SchemaUpgrade {
    let store: HubStore
    let others: OtherNodes
    let channel: any NodeChannel
    let logger: Logger
    /// Time without a report after which a node counts as gone.
    var patience = OtherNodes.patience
    /// Time for which this node must have been able to hear others, without a break.
    var listening = Duration.seconds(5)
    /// Longest time between two looks of a node that can hear others.
    var longestLook = Duration.seconds(1)
    var interval = Duration.milliseconds(500)
    /// Called with a text for the operator as long as the node waits, about twice a second.
    let waiting: @Sendable (String) -> Void

    /// Returns when the database has this version's schema.
    ///
    /// - Throws: An ``OrderedLogError`` that is final, or if no reports can be received; a `DatabaseError`.
    func run() async throws {
        guard store.awaitsUpgrade else { return }
        try await withThrowingTaskGroup { group in
            group.addTask {
                for await announcement in channel.announcements() where announcement.first == NodeMessages.Kind.presence
                {
                    others.note(presence: announcement.dropFirst())
                }
                try Task.checkCancellation()
                throw OrderedLogError.unavailable(reason: "the reports of other nodes cannot be received")
            }
            group.addTask { try await wait() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private func wait() async throws {
        var (hearsSince, known, follows) = (ContinuousClock.now, [String](), true)
        while store.awaitsUpgrade {
            let begin = ContinuousClock.now
            others.announcePresence()
            follows = try await retrying(isNews: follows) { try await store.follow { _ in } }
            let older = olderNodes
            if older != known, !older.isEmpty {
                logger.notice(
                    "waiting for hubs of an earlier version to stop; upgrade them too",
                    metadata: ["node.names": "\(older.joined(separator: ", "))"]
                )
            }
            known = older
            // A node that was paused, or could not reach the log's servers, has missed reports.
            if !follows || .now - begin > longestLook { hearsSince = .now }
            if older.isEmpty, .now - hearsSince >= listening {
                let isDone = try await retrying(isNews: true) {
                    try await store.upgradeLog { olderNodes.isEmpty && .now - begin <= longestLook }
                }
                if !isDone || store.awaitsUpgrade { hearsSince = .now }
            } else {
                let names = older.isEmpty ? "" : ": \(older.joined(separator: ", "))"
                waiting("waiting for hubs of an earlier version\(names)")
                try await Task.sleep(for: interval)
            }
        }
        logger.notice("the log and the database now have the schema of this version")
    }

    private var olderNodes: [String] { others.older(since: .now - patience) }

    /// Logs an error after which it can be tried again, if it `isNews`.
    ///
    /// - Returns: False for such an error.
    private func retrying(isNews: Bool, _ body: () async throws -> Void) async throws -> Bool {
        do {
            try await body()
            return true
        } catch let error as OrderedLogError where !error.isFinal {
            if isNews {
                logger.warning("cannot follow the log; trying again", metadata: ["error.reason": "\(error)"])
            }
            try await Task.sleep(for: interval)
            return false
        }
    }
}
