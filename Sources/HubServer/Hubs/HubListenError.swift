import Foundation
import NIOCore

/// A server cannot listen on its address: it is in use, does not belong to this machine, or is not permitted.
package struct HubListenError: Error {
    package let cause: Cause
    package let reason: String

    package enum Cause: Sendable {
        /// Another address would help.
        case address
        /// Another port would help, now or later the same one.
        case port
        /// The port is below 1024, and the process lacks `CAP_NET_BIND_SERVICE` (capabilities(7), ip(7)).
        case privilege
        /// The service manager forbids the port (systemd.resource-control(5), `SocketBindDeny=`).
        case serviceManager
    }
}

extension HubListenError {
    /// `nil` for an error of another kind.
    package init?(_ error: any Error) {
        switch error {
        case let error as IOError: self.init(code: error.errnoCode)
        case is SocketAddressError, is SocketAddressError.FailedToParseIPByteBuffer, is SocketAddressError.UnknownHost:
            self.init(cause: .address, reason: "there is no such address")
        default: return nil
        }
    }

    /// Makes an error from the value of `errno`.
    package init(code: Int32) {
        let (cause, reason): (Cause, String) =
            switch code {
            case EADDRINUSE: (.port, "another program listens there")
            case EADDRNOTAVAIL: (.address, "this machine does not have that address")
            case EACCES: (.privilege, "a port below 1024 needs a privilege")
            case EPERM: (.serviceManager, "the service manager does not permit this port")
            default: (.port, String(cString: strerror(code)).lowercased())
            }
        self.init(cause: cause, reason: reason)
    }
}
