package import HubProtocol

/// A fault in the transfer of a request's body, caused by the client or the network, never by the server.
package enum RequestFault: Error, Sendable {
    /// The connection, or the request's HTTP/2 stream, ended early.
    case cutShort
    /// Chunks, trailers or frames are not valid HTTP.
    case malformed
    /// The body is slower than the server allows.
    case tooSlow

    package var refusal: ProtocolError {
        switch self {
        case .cutShort: .badRequest("The request body ended before it was complete.")
        case .malformed: .badRequest("The request body is not valid HTTP.")
        case .tooSlow: .tooSlow("The request body arrived too slowly; send the request again, without pauses.")
        }
    }
}
