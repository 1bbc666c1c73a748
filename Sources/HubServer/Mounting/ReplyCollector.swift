import HTTPTypes
import Hummingbird
import NIOCore

/// Collects the body of a reply; for one writer.
final class ReplyCollector: ResponseBodyWriter {
    private(set) var bytes = ByteBuffer()
    private let limit: Int

    /// The body is larger than the limit.
    struct TooLarge: Error {}

    init(limit: Int) { self.limit = limit }

    func write(_ buffer: ByteBuffer) async throws {
        guard bytes.readableBytes + buffer.readableBytes <= limit else { throw TooLarge() }
        bytes.writeImmutableBuffer(buffer)
    }

    func finish(_ trailingHeaders: HTTPFields?) async throws {}
}
