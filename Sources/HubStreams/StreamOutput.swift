package import HubProtocol
package import NIOCore

/// The destination of a stream's bytes: a bare connection, or the body of a response.
///
/// Called on the session's event loop only. An output notifies its session when it can accept more bytes, and when it
/// has ended.
package protocol StreamOutput: AnyObject {
    /// Answers the request with success; bytes follow.
    func open()
    /// Answers the request with a refusal and ends.
    func refuse(_ error: ProtocolError)
    /// Writes bytes.
    ///
    /// - Returns: False if no more may follow until the output calls ``StreamSession/outputIsReady()``.
    func write(_ bytes: ByteBuffer) -> Bool
    /// Ends the stream after the bytes written so far.
    func close()
}
