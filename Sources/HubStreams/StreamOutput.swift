import HubProtocol
import NIOCore

/// Where a stream's bytes go: a bare connection, or the body of a response.
///
/// Called on the session's event loop only. An output tells its session when it can take more and when it has ended.
protocol StreamOutput: AnyObject {
    /// Answers the request with success; bytes follow.
    func open()
    /// Answers the request with a refusal and ends.
    func refuse(_ error: ProtocolError)
    /// Takes bytes.
    ///
    /// - Returns: Whether more may follow at once; if not, ``StreamSession/outputIsReady()`` is called when they may.
    func write(_ bytes: ByteBuffer) -> Bool
    /// Ends the stream after what was written.
    func close()
}

/// Why a hub ends a stream.
enum StreamEnd: Sendable {
    /// Another stream of the same installation has taken its place.
    case replaced
    /// The installation is gone, or the key that opened the stream.
    case revoked
    /// The hub stops; the agent comes back.
    case stopping
    /// The token that opened it has expired; the agent comes back with a new one.
    case expired

    var eventName: String? {
        switch self {
        case .replaced: StreamEventName.replaced
        case .revoked: StreamEventName.revoked
        case .stopping, .expired: nil
        }
    }
}
