import HubProtocol
import HubStore

/// Decides whether a cursor can be resumed from.
///
/// A cursor is good only when its epoch is known, its sequence lies before the next epoch's first and not above the
/// top, and all that follows it is still held. A cursor from before a restore can be good, but is followed by a loss,
/// which is a gap at its place in the log.
struct EpochHistory: Sendable {
    /// Oldest first; the last one is this start's.
    let epochs: [Epoch]
    /// Where restores lost messages, in the order of the log.
    var losses: [Loss] = []

    /// Where a stream goes on.
    enum Resumption: Equatable {
        case resume(after: Int64)
        /// Something between the cursor and `after` may be lost; `loss` is where, if that is known.
        case gap(after: Int64, reason: String, loss: Loss? = nil)
        /// The same for a cursor that does not say where its history left this hub's log.
        ///
        /// The gap stands for the loss `told` too. Earlier ones were announced before, or are announced at their places.
        case strangeCursor(after: Int64, reason: String, told: Loss?)
    }

    static let restored = "the hub was restored from an older copy"
    static let tooOld = "messages older than the hub's log are gone"

    var current: String { epochs.last?.name ?? "" }

    /// A name for a new start: 64 random bits, so that no two histories share one.
    static func newName() -> String {
        String(UInt64.random(in: .min ... .max), radix: 36)
    }

    /// Finds where a stream goes on.
    ///
    /// - Parameters:
    ///   - cursor: The `Last-Event-ID` as it came, `nil` without one.
    ///   - created: The place of the installation in the log, where a stream without a cursor starts.
    ///   - top: The highest sequence.
    ///   - droppedThrough: All messages up to this sequence are gone.
    /// - Returns: After which sequence the stream goes on, and whether something may be missing before.
    func resume(_ cursor: String?, created: Int64, top: Int64, droppedThrough: Int64) -> Resumption {
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
        let passed = losses.last { $0.sequence - 1 <= position.sequence }
        guard let index = epochs.firstIndex(where: { $0.name == position.epoch }) else {
            let reason = "the cursor is from a history that this hub does not have"
            return .strangeCursor(after: droppedThrough, reason: reason, told: passed)
        }
        let next = index + 1 < epochs.count ? epochs[index + 1].firstSequence : Int64.max
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

extension Loss {
    /// The same each time the loss is announced.
    var name: String { StreamPosition(epoch: epoch, sequence: sequence).text }

    /// For people; names the time from which messages may be missing.
    var reason: String {
        guard let since, since < foundAt else { return EpochHistory.restored }
        let times = [since, foundAt].map(DeliveryInquiry.time)
        return "\(EpochHistory.restored): messages sent from \(times[0]) to \(times[1]) may be missing"
    }
}
