import HubProtocol
import HubRouting
import HubStore
import HubStreams
import NIOCore

/// Reads a stream's pending messages from the store.
extension Hub {
    /// Maximum number of messages in one page.
    static let pageMessages = 256
    /// Encoded bytes after which a page ends.
    static let pageBytes = 256 << 10
    /// Maximum rendering cost of a page in bytes: renderings that are too large produce few bytes.
    static let pageCost = 1 << 20

    static let unreadable = "the hub cannot read its stored data"
    static let forgotten = "the installation has changed so often that its earlier choices are no longer stored"

    /// The messages pending for an installation after a sequence.
    ///
    /// Each message is matched against the row that was in force at its sequence, by the same code as live delivery. A
    /// message addressed to a user or device by name must also match the present identity: a device that changed hands
    /// does not get its former user's messages.
    ///
    /// A gap replaces messages that were dropped while the stream was being read, that a restore lost, or that cannot
    /// be read: they must not keep the stream from later messages.
    func page(_ request: StreamPageRequest) async throws -> StreamPage {
        let pending = try await store.pendingMessages(
            hub: record.id,
            ordinal: request.ordinal,
            after: request.after,
            through: request.through,
            limit: Self.pageMessages
        )
        var page = PendingPage(after: request.after, encoding: encoding)
        defer { counters.streams.gaps.add(page.gaps) }
        if pending.droppedThrough > request.after {
            page.lose(through: pending.droppedThrough, reason: EpochHistory.tooOld)
        }
        var losses = epochs.losses.filter { loss in
            // An installation that was created after the restore lost nothing.
            loss.sequence > max(request.after, pending.droppedThrough, pending.createdSequence ?? .end)
                && loss.sequence <= request.through && loss.sequence != request.announcedLoss
        }[...]
        func passLosses(before sequence: LogSequence) {
            while let loss = losses.first, loss.sequence < sequence {
                page.append(encoding.gap(loss))
                losses.removeFirst()
            }
        }
        var inForce: (row: PendingRow, recipient: Result<Recipient, any Error>)?
        lazy var latest = Result { try pending.rows.last.map { try Recipient($0.installation) } }
        var cost = 0
        for logged in pending.messages {
            passLosses(before: logged.sequence)
            guard let row = pending.rows.inForce(at: logged.sequence) else {
                if let created = pending.createdSequence, logged.sequence > created {
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
                    try row == pending.rows.last || isStillAddressed(recipient, by: routed, as: try latest.get()),
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
        if pending.messages.count < Self.pageMessages {
            passLosses(before: .end)
            page.pass(to: request.through)
        }
        return page.finished()
    }

    /// False for a message to a user or device that the recipient no longer belongs to.
    private func isStillAddressed(_ recipient: Recipient, by message: RoutedMessage, as latest: Recipient?) -> Bool {
        let reserved = configuration.reservedTags
        guard message.namesIdentity(reserved), let latest else { return true }
        return recipient.identified(as: latest, reserved).receives(message)
    }
}
