import Foundation
import NIOCore

/// The address cannot be listened on: it is in use, not of this machine, or not allowed.
package struct HubListenError: Error {
    package let reason: String
    /// No port would help.
    package let isOfAddress: Bool

    /// `nil` for an error of another kind.
    init?(_ error: any Error) {
        switch error {
        case let error as IOError:
            isOfAddress = error.errnoCode == EADDRNOTAVAIL
            reason =
                switch error.errnoCode {
                case EADDRINUSE: "another program listens there"
                case EADDRNOTAVAIL: "this machine does not have that address"
                default: String(cString: strerror(error.errnoCode))
                }
        case is SocketAddressError, is SocketAddressError.FailedToParseIPByteBuffer, is SocketAddressError.UnknownHost:
            isOfAddress = true
            reason = "there is no such address"
        default: return nil
        }
    }
}
