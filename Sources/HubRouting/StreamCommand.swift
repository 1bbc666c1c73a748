package import HubProtocol

/// A command for the streams of one event loop; a hub's commands come in log order.
package enum StreamCommand: Sendable, Equatable {
    case attach(StreamID, StreamAttachment)
    case refuse(StreamID, ProtocolError)
    /// The installation's choice changed at the sequence.
    case move(StreamID, Recipient, at: LogSequence)
    case end(StreamID, StreamEnd)
    /// A message for each cohort that it matches.
    case publish(RoutedMessage)
    /// A message that names an identity, for the streams that it may match; `nil` means that each stream is checked.
    case deliver(RoutedMessage, to: [StreamID]?)
    /// All commands up to this sequence have been sent.
    case head(LogSequence)
}

/// The initial state of a stream.
package struct StreamAttachment: Sendable, Equatable {
    package let ordinal: Ordinal
    package let recipient: Recipient
    package let beginning: StreamBeginning
    /// Messages up to this sequence are read from the store; later ones are sent as commands.
    package let through: LogSequence
    /// True if the store may hold messages between the beginning and `through`.
    package let needsReplay: Bool
    /// The expiry of the token, in seconds since 1970.
    package let validUntil: Int64
}

/// The point at which a stream begins, with a report of messages that may be missing before it.
package struct StreamBeginning: Sendable, Equatable {
    /// The stream gets messages with a higher sequence.
    package let after: LogSequence
    /// The reason why messages may be missing; `nil` if there is no gap.
    package var gap: String?
    /// The loss that the gap announces.
    package var loss: Loss?
    /// The cursor as received, to be named in the gap.
    package var cursor: String?
    /// The sequence of another loss that the gap announces.
    package var announcedLoss: LogSequence?

    package init(_ resumption: EpochHistory.Resumption, cursor: String?) {
        self.cursor = cursor
        switch resumption {
        case .resume(let sequence): after = sequence
        case .gap(let sequence, let reason, let loss):
            (after, gap, self.loss) = (sequence, reason, loss)
        case .strangeCursor(let sequence, let reason, let announced):
            (after, gap, announcedLoss) = (sequence, reason, announced?.sequence)
        }
    }
}
