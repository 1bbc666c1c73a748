import Foundation
package import HubProtocol

/// Decides whether a stream can resume from a cursor.
///
/// A cursor is valid only if its epoch is known, its sequence lies before the next epoch's first and not above the top,
/// and all later messages are still held. A cursor from before a restore can be valid, but is followed by a loss, which
/// is a gap at its place in the log.
package struct EpochHistory: Sendable {
    /// Oldest first; the last one began with the current start.
    package let epochs: [Epoch]
    /// The losses caused by restores, in log order.
    package let losses: [Loss]

    package init(epochs: [Epoch], losses: [Loss] = []) {
        self.epochs = epochs
        self.losses = losses
    }

    /// The point at which a stream resumes.
    package enum Resumption: Equatable {
        case resume(after: LogSequence)
        /// Messages between the cursor and `after` may be missing; `loss` is the place, if known.
        case gap(after: LogSequence, reason: String, loss: Loss? = nil)
        /// Messages may be missing after a cursor that does not show where its history diverged from this hub's log.
        ///
        /// The gap also announces the loss `announced`. Earlier losses were announced before, or are announced at their
        /// places.
        case strangeCursor(after: LogSequence, reason: String, announced: Loss?)
    }

    package static let restored = "the hub was restored from an older copy"
    package static let tooOld = "messages older than the hub's log are gone"

    package var current: String { epochs.last?.name ?? "" }

    /// Finds the point at which a stream resumes.
    ///
    /// - Parameters:
    ///   - cursor: The `Last-Event-ID` as received, `nil` without one.
    ///   - created: The installation's place in the log, where a stream without a cursor starts.
    ///   - top: The highest sequence.
    ///   - droppedThrough: All messages up to this sequence were dropped.
    /// - Returns: The sequence after which the stream resumes, and whether messages may be missing before it.
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
                reason: "the cursor is not from this hub",
                announced: losses.last
            )
        }
        // A history diverges from the log at a loss that its cursors have passed.
        let passed = losses.last { $0.sequence.previous <= position.sequence }
        guard let index = epochs.firstIndex(where: { $0.name == position.epoch }) else {
            let reason = "the cursor is from a history that this hub does not have"
            return .strangeCursor(after: droppedThrough, reason: reason, announced: passed)
        }
        let next = index + 1 < epochs.count ? epochs[index + 1].firstSequence : .end
        guard position.sequence < next, position.sequence <= top else {
            // The reader has every message that the epoch shares with the copy: all messages below the loss.
            if let loss = losses.first(where: { $0.sequence == next }), next > droppedThrough {
                return .gap(after: next, reason: loss.reason, loss: loss)
            }
            return .strangeCursor(after: droppedThrough, reason: Self.restored, announced: passed)
        }
        guard position.sequence >= droppedThrough else {
            return .gap(after: droppedThrough, reason: Self.tooOld)
        }
        return .resume(after: position.sequence)
    }
}

/// One start of a hub, named by cursors so that a restored older copy of the file cannot pass for the newer one.
package struct Epoch: Sendable, Equatable {
    package let name: String
    package let firstSequence: LogSequence

    package init(name: String, firstSequence: LogSequence) {
        self.name = name
        self.firstSequence = firstSequence
    }
}

/// A place in the log where messages may be missing, because the database was replaced by an older copy of itself.
///
/// The copy does not know which messages were accepted after it was made, so the loss has a sequence of its own:
/// messages below it were in the copy, and messages above it were accepted after the restore.
package struct Loss: Sendable, Equatable {
    package let sequence: LogSequence
    /// The epoch that began when the hub found the loss.
    package let epoch: String
    /// The newest instant in the copy; `nil` if it had none.
    package let since: Timestamp?
    /// The time at which the hub found the loss.
    package let foundAt: Timestamp

    package init(sequence: LogSequence, epoch: String, since: Timestamp?, foundAt: Timestamp) {
        self.sequence = sequence
        self.epoch = epoch
        self.since = since
        self.foundAt = foundAt
    }

    /// A name that is the same each time the loss is announced.
    package var name: String { StreamPosition(epoch: epoch, sequence: sequence).text }

    /// A sentence for people with the time after which messages may be missing.
    package var reason: String {
        guard let since, since < foundAt else { return EpochHistory.restored }
        let times = [since, foundAt].map(\.wholeSecond)
        return "\(EpochHistory.restored): messages sent from \(times[0]) to \(times[1]) may be missing"
    }
}
