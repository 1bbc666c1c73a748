import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

/// A backward scan of a range of a hub's messages that selects messages by tags.
package struct MessageScan: Sendable {
    /// The selected messages, newest first.
    package var messages: [AcceptedMessage] = []
    /// Number of messages scanned; if it is below the limit, the range has no more messages.
    package var count = 0
    /// The lowest sequence scanned; `nil` for an empty range.
    package var lowest: LogSequence?
}

extension HubStore {
    /// Reads the messages after one sequence and up to another, newest first.
    ///
    /// Only the tags of messages that are not selected are read: bodies may be large.
    ///
    /// - Parameters:
    ///   - hub: The hub.
    ///   - after: The sequence before the range.
    ///   - through: The last sequence of the range.
    ///   - limit: The maximum number of messages to scan.
    ///   - isChosen: Decides by the tag expression, which is `nil` for a broadcast and for a direct send; called once
    ///     for each distinct text.
    /// - Returns: The selected messages and the extent of the scan.
    /// - Throws: A `DatabaseError`.
    package func scanMessages(
        hub: HubKey,
        after: LogSequence,
        through: LogSequence,
        limit: Int,
        where isChosen: @Sendable (String?) -> Bool
    ) async throws -> MessageScan {
        try await snapshot { db in
            var scan = MessageScan()
            var verdicts: [String?: Bool] = [:]
            let rows: [(LogSequence, String?)] = try db.rows(LookupQuery.newestTags, [hub, after, through, limit]) {
                ($0[0], $0[1])
            }
            for (sequence, tags) in rows {
                scan.count += 1
                scan.lowest = sequence
                let verdict = verdicts[tags] ?? isChosen(tags)
                verdicts[tags] = verdict
                guard verdict else { continue }
                let message = try db.row(LookupQuery.messageOfSequence, [sequence], AcceptedMessage.init(row:))
                if let message { scan.messages.append(message) }
            }
            return scan
        }
    }
}
