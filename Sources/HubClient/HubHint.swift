import HubProtocol
package import NetworkAddresses

/// Hints after a failed call to a hub; the command line has their texts.
package enum HubHint: Sendable, Equatable {
    /// The problem with the hub's certificate.
    case certificate(DistrustCause)
    /// The key grants Listen only.
    case listenersKey
    case key
    /// The hub's clock and this machine's differ: a token that was just signed has expired there.
    case clock
    /// The rule does not have the right that the call needs.
    case rights
    /// The hub's name, or the endpoint.
    case hubName
    /// No hub answers there.
    case noHub
}

extension HubError {
    package var hint: HubHint? {
        switch self {
        case .unreachable(_, let cause): cause.map { .certificate($0) }
        case .refused(401, ProtocolError.Code.claimRequired, _, _): .listenersKey
        case .refused(401, ProtocolError.Code.expiredToken, _, _): .clock
        case .refused(401, _, _, _): .key
        case .refused(403, _, _, _): .rights
        case .refused(404, _, _, _), .unsupported(404, _): .hubName
        case .refused where isPermanent, .unsupported: .noHub
        case .refused, .malformedReply, .cancelled: nil
        }
    }
}
