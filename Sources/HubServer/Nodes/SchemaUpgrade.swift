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
    /// Time without a report after which a node is gone; nodes report once a second.
    var patience = Duration.seconds(3)
    var interval = Duration.milliseconds(500)
    /// Called with a text for the operator as long as the node waits, about twice a second.
    let waiting: @Sendable (String) -> Void

    /// Returns when the database has this version's schema.
    ///
    /// - Throws: An ``OrderedLogError`` that is final, or a `DatabaseError`.
    func run() async throws {
        guard store.awaitsUpgrade else { return }
        try await withThrowingTaskGroup { group in
            group.addTask {
                for await announcement in channel.announcements() where announcement.first == NodeMessages.Kind.presence
                {
                    others.note(presence: announcement.dropFirst())
                }
            }
            defer { group.cancelAll() }
            try await wait()
        }
    }

    private func wait() async throws {
        let begin = ContinuousClock.now
        var known: [String] = []
        while store.awaitsUpgrade {
            others.announcePresence()
            try await follow()
            let older = others.older(since: .now - patience)
            if older != known, !older.isEmpty {
                logger.notice(
                    "waiting for hubs of an earlier version, which still serve: upgrade them, too",
                    metadata: ["node.names": "\(older.joined(separator: ", "))"]
                )
            }
            known = older
            if older.isEmpty, .now - begin >= patience {
                try await upgrade()
            } else {
                waiting("waiting for hubs of an earlier version: \(older.joined(separator: ", "))")
                try await Task.sleep(for: interval)
            }
        }
        logger.notice("the log and the database have the schema of this version")
    }

    private func upgrade() async throws {
        do {
            try await store.upgradeLog()
        } catch let error as OrderedLogError where !error.isFinal {
            try await retry(after: error)
        }
    }

    private func follow() async throws {
        do {
            try await store.follow { _ in }
        } catch let error as OrderedLogError where !error.isFinal {
            try await retry(after: error)
        }
    }

    private func retry(after error: OrderedLogError) async throws {
        logger.warning("cannot follow the log; trying again", metadata: ["error.reason": "\(error)"])
        try await Task.sleep(for: interval)
    }
}
