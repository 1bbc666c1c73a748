import Foundation
import NIOCore

/// The address cannot be listened on: it is in use, not of this machine, or not allowed.
package struct HubListenError: Error {
    package let reason: String

    /// `nil` for an error of another kind.
    init?(_ error: any Error) {
        guard let error = error as? IOError else { return nil }
        reason =
            error.errnoCode == EADDRINUSE ? "another program listens there" : String(cString: strerror(error.errnoCode))
    }
}
