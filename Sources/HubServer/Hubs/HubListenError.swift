import Foundation
import NIOCore

/// The hub cannot listen on the address: it is in use, does not belong to this machine, or is not permitted.
package struct HubListenError: Error {
    package let reason: String
    /// True if another port would not help.
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
