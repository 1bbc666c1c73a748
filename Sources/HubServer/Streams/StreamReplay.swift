import HubProtocol
import HubRouting
import HubStore
import HubStreams
import NIOCore

/// Reads from the store what a stream has yet to get.
extension Hub {
    /// Messages that one page reads.
    static let pageMessages = 256
    /// Encoded bytes after which a page ends.
    static let pageBytes = 256 << 10
    /// Bytes that rendering may cost before a page ends: renderings that are too large give few bytes.
    static let pageCost = 1 << 20

    static let unreadable = "the hub cannot read what it kept"
    static let forgotten = "the choice was changed too often to keep what was wanted then"

    /// What an installation is owed after a place in the log.
    ///
    /// Each message is matched against the row that was in force at its sequence, by the same code as live delivery. One
    /// that is addressed to a user or device by name has to match the identity of today as well: a device that changed
    /// hands does not get its former user's messages.
    ///
    /// A gap stands for what was dropped while the stream was on its way, for what a restore lost, and for what cannot be
    /// read: it must not keep the stream from what comes after it.
    func page(_ request: StreamPageRequest) async throws -> StreamPage {
        let owed = try await store.owedMessages(
            hub: record.id,
            ordinal: request.ordinal,
            after: request.after,
            through: request.through,
            limit: Self.pageMessages
        )
        var page = OwedPage(after: request.after, encoding: encoding)
        defer { counters.streams.gaps.add(page.gaps) }
        if owed.droppedThrough > request.after {
            page.lose(through: owed.droppedThrough, reason: EpochHistory.tooOld)
        }
        var losses = epochs.losses.filter { loss in
            // An installation that was made after the restore lost nothing.
            loss.sequence > max(request.after, owed.droppedThrough, owed.createdSequence ?? .end)
                && loss.sequence <= request.through && loss.sequence != request.toldLoss
        }[...]
        func passLosses(before sequence: LogSequence) {
            while let loss = losses.first, loss.sequence < sequence {
                page.append(encoding.gap(loss))
                losses.removeFirst()
            }
        }
        var inForce: (row: OwedRow, recipient: Result<Recipient, any Error>)?
        lazy var latest = Result { try owed.rows.last.map { try Recipient($0.installation) } }
        var cost = 0
        for logged in owed.messages {
            passLosses(before: logged.sequence)
            guard let row = owed.rows.inForce(at: logged.sequence) else {
                if let created = owed.createdSequence, logged.sequence > created {
                    page.lose(through: logged.sequence, reason: Self.forgotten)
                }
                continue
            }
            if inForce?.row.afterSequence != row.afterSequence {
                inForce = (row, Result { try Recipient(row.installation) })
            }
            do {
                let routed = try logged.routed
                if let recipient = try inForce?.recipient.get(),
                    try row == owed.rows.last || isStillAddressed(recipient, by: routed, as: try latest.get()),
                    let entry = encoding.encode(routed, for: recipient, cost: &cost)
                {
                    if entry.isGap { noteOversize(routed.id) }
                    page.append(entry)
                }
            } catch {
                noteUnreadable(logged.sequence, error)
                page.lose(through: logged.sequence, reason: Self.unreadable)
            }
            page.pass(to: logged.sequence)
            if page.bytes.readableBytes >= Self.pageBytes || cost >= Self.pageCost { return page.finished() }
        }
        if owed.messages.count < Self.pageMessages {
            passLosses(before: .end)
            page.pass(to: request.through)
        }
        return page.finished()
    }

    /// False for a message to a user or device that the recipient is today no longer.
    private func isStillAddressed(_ recipient: Recipient, by message: RoutedMessage, as latest: Recipient?) -> Bool {
        let reserved = configuration.reservedTags
        guard message.namesIdentity(reserved), let latest else { return true }
        return recipient.identified(as: latest, reserved).receives(message)
    }
}
