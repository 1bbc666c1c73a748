import HubProtocol

/// A request whose body did not come as it should have: a fault of its client or of the way, never the hub's.
enum RequestFault: Error, Sendable {
    /// The connection, or the request's stream of HTTP/2, ended first.
    case cutShort
    /// Chunks, trailers or frames that are not valid HTTP.
    case malformed
    /// Slower than ``ConnectionLimits`` allows.
    case tooSlow

    var refusal: ProtocolError {
        switch self {
        case .cutShort: .badRequest("The request body ended before it was complete.")
        case .malformed: .badRequest("The request body is not valid HTTP.")
        case .tooSlow: .tooSlow("The request body came too slowly; send it again at once.")
        }
    }
}
