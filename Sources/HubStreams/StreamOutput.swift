package import HubProtocol
package import NIOCore

/// Where a stream's bytes go: a bare connection, or the body of a response.
///
/// Called on the session's event loop only. An output tells its session when it can take more and when it has ended.
package protocol StreamOutput: AnyObject {
    /// Answers the request with success; bytes follow.
    func open()
    /// Answers the request with a refusal and ends.
    func refuse(_ error: ProtocolError)
    /// Takes bytes.
    ///
    /// - Returns: False if no more may follow until the output calls ``StreamSession/outputIsReady()``.
    func write(_ bytes: ByteBuffer) -> Bool
    /// Ends the stream after what was written.
    func close()
}
