package import HubProtocol
package import HubRouting
package import NIOCore

/// Asks for a page of the store, for a stream that is not at the end.
package struct StreamPageRequest: Sendable {
    package let stream: StreamID
    package let loop: StreamLoop
    package let ordinal: Ordinal
    package let after: LogSequence
    package let through: LogSequence
    /// The recipient's templates are heavy.
    package let isHeavy: Bool
    /// The sequence of a loss that was announced when the stream began.
    package let toldLoss: LogSequence?
}

/// A page of the store.
package struct StreamPage: Sendable {
    /// The encoded events; `nil` when there are none.
    package let bytes: ByteBuffer?
    package let messages: Int
    /// The stream is complete up to this sequence with them.
    package let through: LogSequence

    package init(bytes: ByteBuffer?, messages: Int = 0, through: LogSequence) {
        self.bytes = bytes
        self.messages = messages
        self.through = through
    }
}
