import HubProtocol
import HubStore
import Synchronization

/// How many installations a message matches, at a state of the registry.
struct Matched: Sendable {
    let counts: RecipientCounts
    /// ``Registry/changes`` at that state.
    let changes: Int
}

extension Hub {
    /// How many installations a template send with this expression would reach.
    func recipients(of expression: TagExpression?) -> RecipientCounts {
        state.withLock { $0.registry.counts(of: expression) }
    }

    /// Whom a message matches, before the commit that takes it.
    ///
    /// Changes of installations in the same commit are not seen yet; ``recount(_:by:sequence:)`` makes up for them.
    func matched(by expression: TagExpression?) -> Matched {
        state.withLock { state in
            Matched(counts: state.counts(of: expression, configuration), changes: state.registry.changes)
        }
    }

    /// Corrects what a message was stored with, when installations have changed before it in its own commit.
    func recount(_ stored: Matched, by expression: TagExpression?, sequence: Int64) {
        state.withLock { state in
            guard state.registry.changes != stored.changes else { return }
            let counts = state.counts(of: expression, configuration)
            if counts != stored.counts { state.recounted[sequence] = counts }
        }
    }

    /// Writes corrected counts to the store.
    func flushRecounted() async throws {
        let batch = state.withLock { $0.recounted }
        guard !batch.isEmpty else { return }
        try await writer.perform(bytes: 0) { transaction in
            for (sequence, counts) in batch { try transaction.setMatched(counts, sequence: sequence) }
        } apply: { _ in
            self.state.withLock { state in
                for sequence in batch.keys { state.recounted[sequence] = nil }
            }
        }
    }
}

extension Hub.State {
    /// Expressions that name somebody are many and match few: they are not worth keeping.
    fileprivate mutating func counts(
        of expression: TagExpression?,
        _ configuration: HubConfiguration
    ) -> RecipientCounts {
        let namesIdentity = expression?.namesIdentity(configuration.reservedTags) ?? false
        return registry.counts(of: expression, keeping: !namesIdentity)
    }
}
