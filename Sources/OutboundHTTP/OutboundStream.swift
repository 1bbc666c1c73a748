/// A reply whose body is read as it arrives.
///
/// At most ``Transfer/maximumBufferedBytes`` are buffered; then nothing is read from the peer until the reader has caught
/// up. The connection is closed when the stream is released or cancelled.
package struct OutboundStream: Sendable {
    package let status: Int
    package let headers: OutboundHeaders

    /// The URL after redirects.
    package let url: String

    let lease: Lease

    /// Returns the bytes that have arrived since the last call, or waits for the next ones.
    ///
    /// Only one task may call it at a time. Cancelling that task cancels the stream.
    ///
    /// - Returns: At least one byte; `nil` at the end of the body.
    /// - Throws: ``OutboundError/cut(host:received:expected:)`` if the peer ended early,
    ///   ``OutboundError/timedOut(host:stage:after:)`` after too long a silence. Bytes that arrived before are returned
    ///   first.
    package func nextChunk() async throws(OutboundError) -> [UInt8]? {
        if Task.isCancelled { cancel() }
        let lease = lease
        await withTaskCancellationHandler {
            await lease.transfer.wait(until: .bytes)
        } onCancel: {
            lease.cancel()
        }
        if Task.isCancelled { throw .cancelled }
        let (bytes, isPaused) = try lease.transfer.takeBytes().get()
        if isPaused { lease.client.send(.resume(lease.transfer)) }
        return bytes
    }

    /// Returns the rest of the body, for the text of an error reply: at most `limit` bytes within 10 seconds.
    package func text(limit: Int) async throws(OutboundError) -> String {
        lease.client.send(.boundRest(lease.transfer))
        var bytes: [UInt8] = []
        while bytes.count < limit, let chunk = try await nextChunk() {
            bytes.append(contentsOf: chunk)
        }
        return String(decoding: bytes.prefix(limit), as: UTF8.self)
    }

    /// Closes the connection; a waiting ``nextChunk()`` throws ``OutboundError/cancelled``.
    package func cancel() {
        lease.cancel()
    }

    final class Lease: Sendable {
        let client: OutboundClient
        let transfer: Transfer

        init(client: OutboundClient, transfer: Transfer) {
            self.client = client
            self.transfer = transfer
        }

        deinit {
            cancel()
        }

        func cancel() {
            client.send(.cancel(transfer))
        }
    }
}
