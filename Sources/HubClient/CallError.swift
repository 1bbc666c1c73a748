import NetworkAddresses
import OutboundHTTP

/// An error of a call to a hub or an app backend.
protocol CallError: Error {
    static var cancelled: Self { get }

    static func malformedReply(_ reason: String) -> Self

    static func unreachable(_ reason: String, _ cause: DistrustCause?) -> Self
}

extension CallError {
    init(_ error: OutboundError) {
        switch error {
        case .cancelled, .shutDown: self = .cancelled
        case .malformedReply, .tooLarge: self = .malformedReply(error.description)
        case .untrusted(_, _, let cause): self = .unreachable(error.description, cause)
        default: self = .unreachable(error.description, nil)
        }
    }
}
