import GRDB
package import HubProtocol
package import HubRouting

/// A look at a run of a hub's messages from its end, for what is chosen by tags.
package struct MessageScan: Sendable {
    /// Those that were chosen, newest first.
    package var messages: [AcceptedMessage] = []
    /// Number of messages that were looked at; fewer than asked for mean that the run has no more.
    package var count = 0
    /// The last message that was looked at; `nil` in an empty run.
    package var lowest: LogSequence?
}

extension HubStore {
    /// Reads the messages after one place in the log and up to another, newest first.
    ///
    /// Only tags are read of messages that are not chosen: bodies may be large.
    ///
    /// - Parameters:
    ///   - hub: The hub.
    ///   - after: The place before the run.
    ///   - through: The last place of the run.
    ///   - limit: The most messages to look at.
    ///   - isChosen: Decides by the tag expression, `nil` for a broadcast and for a direct send; called once for each text.
    /// - Returns: What was found.
    /// - Throws: A `DatabaseError`.
    package func scanMessages(
        hub: HubKey,
        after: LogSequence,
        through: LogSequence,
        limit: Int,
        where isChosen: @Sendable (String?) -> Bool
    ) async throws -> MessageScan {
        try await pool.read { db in
            var scan = MessageScan()
            var verdicts: [String?: Bool] = [:]
            let one = try db.cachedStatement(sql: Inquiry.messageOfSequence)
            let rows = try Row.fetchCursor(
                try db.cachedStatement(sql: Inquiry.newestTags),
                arguments: [hub, after, through, limit]
            )
            while let row = try rows.next() {
                let (sequence, tags): (LogSequence, String?) = (row[0], row[1])
                scan.count += 1
                scan.lowest = sequence
                let verdict = verdicts[tags] ?? isChosen(tags)
                verdicts[tags] = verdict
                guard verdict, let message = try Row.fetchOne(one, arguments: [sequence]) else { continue }
                scan.messages.append(try AcceptedMessage(row: message))
            }
            return scan
        }
    }
}
