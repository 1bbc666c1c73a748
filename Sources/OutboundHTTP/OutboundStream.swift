/// A reply whose body is read as it comes.
///
/// At most ``Transfer/maximumBufferedBytes`` wait here; beyond that the peer is not read from until the reader catches
/// up. Let go or cancelled, it closes its connection.
package struct OutboundStream: Sendable {
    package let status: Int
    package let headers: OutboundHeaders

    /// The address that answered, after redirects.
    package let url: String

    private let lease: Lease

    init(status: Int, headers: OutboundHeaders, url: String, lease: Lease) {
        self.status = status
        self.headers = headers
        self.url = url
        self.lease = lease
    }

    /// The bytes that came since the last call, or the next ones to come.
    ///
    /// For one task at a time.
    ///
    /// - Returns: At least one byte; `nil` at the body's proper end.
    /// - Throws: ``OutboundError/cut(host:received:expected:)`` when the peer ended early,
    ///   ``OutboundError/timedOut(host:stage:after:)`` after too long a silence. Bytes that came before are returned
    ///   first. Cancelling the awaiting task cancels the stream.
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

    /// What is left of the body, cut off at `limit` bytes and given 10 seconds: for what an error reply has to say.
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
