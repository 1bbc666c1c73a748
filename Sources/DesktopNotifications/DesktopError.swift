internal import HostSystem

/// The reason why a notification was not shown.
package enum DesktopError: Error, Sendable, Equatable {
    /// There is no session bus, or it cannot be used.
    case noBus(String)
    /// The bus has no service that shows notifications.
    case noService
    /// The bus or the service did not answer in time.
    case timedOut
    /// The service, or the bus, answered with an error.
    case refused(String)
    /// The connection ended.
    case disconnected
}

extension DesktopError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noBus(let reason): "no session bus: \(TerminalText.safe(reason))"
        case .noService: "nothing on the session bus shows notifications"
        case .timedOut: "the notification service does not answer"
        case .refused(let reason): "the notification service refuses: \(TerminalText.safe(reason))"
        case .disconnected: "the session bus has closed the connection"
        }
    }
}
