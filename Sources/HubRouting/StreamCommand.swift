package import HubProtocol

/// What the streams of one event loop are to do; a hub's commands come in the order of its log.
package enum StreamCommand: Sendable, Equatable {
    case attach(StreamID, StreamAttachment)
    case refuse(StreamID, ProtocolError)
    /// The installation's choice has changed at the sequence.
    case move(StreamID, Recipient, at: LogSequence)
    case end(StreamID, StreamEnd)
    /// A message for each cohort that it matches.
    case publish(RoutedMessage)
    /// A message that names an identity, for streams that it may match; `nil` asks each stream.
    case deliver(RoutedMessage, to: [StreamID]?)
    /// Everything up to this sequence has come.
    case head(LogSequence)
}

/// How a stream begins.
package struct StreamAttachment: Sendable, Equatable {
    package let ordinal: Ordinal
    package let recipient: Recipient
    package let beginning: StreamBeginning
    /// What the stream is to get lies in the store up to this sequence; what comes later is sent as a command.
    package let through: LogSequence
    /// The store may hold something between the beginning and `through`.
    package let needsReplay: Bool
    /// When the token expires, in seconds since 1970.
    package let validUntil: Int64

    package init(
        ordinal: Ordinal,
        recipient: Recipient,
        beginning: StreamBeginning,
        through: LogSequence,
        needsReplay: Bool,
        validUntil: Int64 = .max
    ) {
        self.ordinal = ordinal
        self.recipient = recipient
        self.beginning = beginning
        self.through = through
        self.needsReplay = needsReplay
        self.validUntil = validUntil
    }
}

/// Where a stream begins, and what is said of messages that may be missing before.
package struct StreamBeginning: Sendable, Equatable {
    /// What the stream is to get has a higher sequence.
    package let after: LogSequence
    /// Why something may be missing; `nil` for no gap.
    package var gap: String?
    /// The loss that the gap is about.
    package var loss: Loss?
    /// As it came, for the gap.
    package var cursor: String?
    /// The sequence of a loss that the gap stands for too.
    package var toldLoss: LogSequence?

    package init(_ resumption: EpochHistory.Resumption, cursor: String?) {
        self.cursor = cursor
        switch resumption {
        case .resume(let sequence): after = sequence
        case .gap(let sequence, let reason, let loss):
            (after, gap, self.loss) = (sequence, reason, loss)
        case .strangeCursor(let sequence, let reason, let told):
            (after, gap, toldLoss) = (sequence, reason, told?.sequence)
        }
    }
}
