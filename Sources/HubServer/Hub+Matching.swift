import HubProtocol
import HubStore
import Synchronization

/// How many a message matches, at a state of the registry.
struct Matched: Sendable {
    static let nobody = Matched(counts: RecipientCounts(total: 0, platforms: [:]), changes: nil)

    let counts: RecipientCounts
    /// ``Registry/changes`` at that state; `nil` for counts that do not depend on it, of named targets.
    let changes: Int?
}

extension Hub {
    /// How many a send of this format with this expression would reach.
    func recipients(of expression: TagExpression?, _ format: MessageFormat = .template) -> RecipientCounts {
        state.withLock { $0.registry.counts(of: expression, format) }
    }

    /// Whom a message matches, before the commit that takes it.
    ///
    /// Changes of registrations in the same commit are not seen yet; ``recount(_:by:_:sequence:)`` makes up for them.
    func matched(by expression: TagExpression?, _ format: MessageFormat) -> Matched {
        state.withLock { state in
            Matched(counts: state.registry.counts(of: expression, format), changes: state.registry.changes)
        }
    }

    /// Corrects what a message was stored with, when registrations have changed before it in its own commit.
    func recount(_ stored: Matched, by expression: TagExpression?, _ format: MessageFormat, sequence: Int64) {
        guard let changes = stored.changes else { return }
        state.withLock { state in
            guard state.registry.changes != changes else { return }
            let counts = state.registry.counts(of: expression, format)
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
