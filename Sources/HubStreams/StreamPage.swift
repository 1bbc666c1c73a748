package import HubProtocol
package import HubRouting
package import NIOCore

/// A request for a page of the store, for a stream that lags.
package struct StreamPageRequest: Sendable {
    package let stream: StreamID
    package let loop: StreamLoop
    package let ordinal: Ordinal
    package let after: LogSequence
    package let through: LogSequence
    /// True if the recipient's templates are heavy.
    package let isHeavy: Bool
    /// The sequence of a loss that was announced when the stream began.
    package let announcedLoss: LogSequence?
}

/// A page of the store.
package struct StreamPage: Sendable {
    /// The encoded events; `nil` if there are none.
    package let bytes: ByteBuffer?
    package var messages = 0
    /// With this page, the stream is complete up to this sequence.
    package let through: LogSequence
}
