import Foundation
package import HubProtocol

/// Decides whether a cursor can be resumed from.
///
/// A cursor is good only when its epoch is known, its sequence lies before the next epoch's first and not above the
/// top, and all that follows it is still held. A cursor from before a restore can be good, but is followed by a loss,
/// which is a gap at its place in the log.
package struct EpochHistory: Sendable {
    /// Oldest first; the last one is this start's.
    package let epochs: [Epoch]
    /// Where restores lost messages, in the order of the log.
    package let losses: [Loss]

    package init(epochs: [Epoch], losses: [Loss] = []) {
        self.epochs = epochs
        self.losses = losses
    }

    /// Where a stream goes on.
    package enum Resumption: Equatable {
        case resume(after: LogSequence)
        /// Something between the cursor and `after` may be lost; `loss` is where, if that is known.
        case gap(after: LogSequence, reason: String, loss: Loss? = nil)
        /// The same for a cursor that does not say where its history left this hub's log.
        ///
        /// The gap stands for the loss `told` too. Earlier ones were announced before, or are announced at their places.
        case strangeCursor(after: LogSequence, reason: String, told: Loss?)
    }

    package static let restored = "the hub was restored from an older copy"
    package static let tooOld = "messages older than the hub's log are gone"

    package var current: String { epochs.last?.name ?? "" }

    /// Finds where a stream goes on.
    ///
    /// - Parameters:
    ///   - cursor: The `Last-Event-ID` as it came, `nil` without one.
    ///   - created: The place of the installation in the log, where a stream without a cursor starts.
    ///   - top: The highest sequence.
    ///   - droppedThrough: All messages up to this sequence are gone.
    /// - Returns: After which sequence the stream goes on, and whether something may be missing before.
    package func resume(
        _ cursor: String?,
        created: LogSequence,
        top: LogSequence,
        droppedThrough: LogSequence
    ) -> Resumption {
        guard let cursor else {
            guard created < droppedThrough else { return .resume(after: created) }
            return .gap(after: droppedThrough, reason: Self.tooOld)
        }
        guard let position = StreamPosition(parsing: cursor) else {
            return .strangeCursor(
                after: droppedThrough,
                reason: "the cursor is not one of this hub",
                told: losses.last
            )
        }
        // A history leaves the log at a loss that its cursors have passed.
        let passed = losses.last { $0.sequence.previous <= position.sequence }
        guard let index = epochs.firstIndex(where: { $0.name == position.epoch }) else {
            let reason = "the cursor is from a history that this hub does not have"
            return .strangeCursor(after: droppedThrough, reason: reason, told: passed)
        }
        let next = index + 1 < epochs.count ? epochs[index + 1].firstSequence : .end
        guard position.sequence < next, position.sequence <= top else {
            // The reader has all that the epoch shares with the copy, which is all below the loss.
            if let loss = losses.first(where: { $0.sequence == next }), next > droppedThrough {
                return .gap(after: next, reason: loss.reason, loss: loss)
            }
            return .strangeCursor(after: droppedThrough, reason: Self.restored, told: passed)
        }
        guard position.sequence >= droppedThrough else {
            return .gap(after: droppedThrough, reason: Self.tooOld)
        }
        return .resume(after: position.sequence)
    }
}

/// One start of a hub: cursors name it, so that a restored older copy of the file cannot pass for the newer one.
package struct Epoch: Sendable, Equatable {
    package let name: String
    package let firstSequence: LogSequence

    package init(name: String, firstSequence: LogSequence) {
        self.name = name
        self.firstSequence = firstSequence
    }
}

/// A place in the log where messages may be missing: the database was replaced by an older copy of itself.
///
/// The copy cannot tell which messages were accepted after it was made, so the loss has a sequence of its own: everything
/// below it was in the copy, everything above it was accepted after the restore.
package struct Loss: Sendable, Equatable {
    package let sequence: LogSequence
    /// The start of the hub that found it.
    package let epoch: String
    /// The newest instant that the copy knew; `nil` when it knew none.
    package let since: Timestamp?
    /// When the hub found it.
    package let foundAt: Timestamp

    package init(sequence: LogSequence, epoch: String, since: Timestamp?, foundAt: Timestamp) {
        self.sequence = sequence
        self.epoch = epoch
        self.since = since
        self.foundAt = foundAt
    }

    /// The same each time the loss is announced.
    package var name: String { StreamPosition(epoch: epoch, sequence: sequence).text }

    /// For people; names the time from which messages may be missing.
    package var reason: String {
        guard let since, since < foundAt else { return EpochHistory.restored }
        let times = [since, foundAt].map(\.wholeSecond)
        return "\(EpochHistory.restored): messages sent from \(times[0]) to \(times[1]) may be missing"
    }
}
