package import HostSystem
package import HubClient
package import NetworkAddresses

/// The reason why an agent's command failed.
package struct AgentError: Error, Sendable, Equatable, CustomStringConvertible {
    package let exit: ExitStatus
    /// The operation, its object, and the reason of the failure.
    package let description: String
    package let hint: AgentHint?

    package init(_ exit: ExitStatus, _ description: String, hint: AgentHint? = nil) {
        self.exit = exit
        self.description = description
        self.hint = hint
    }

    init(_ error: HostError) {
        self.init(error.isTemporary ? .tryLater : .badConfiguration, "\(error)")
    }
}

/// Hints after a failure; the command line puts them into words.
package enum AgentHint: Sendable, Equatable {
    case hub(HubHint)
    /// The hub's clock and this machine's differ.
    case clock
    /// Two state directories, one of them a copy, share one installation.
    case copiedState
    /// The server has no event streams.
    case noStreams
    /// The disk of the inbox is full.
    case space
    /// The disk of the output is full, or its file may not grow.
    case outputSpace
    case noConnectionString
    /// Another process listens for the profile.
    case otherSubscriber
    case noCategories
    /// The categories that the hub has.
    case unknownCategory(known: [String])
    case language
    /// The file with the template cannot be read.
    case templateFile
    case template
    /// The handler is not a program.
    case handler
    /// A user has to sign in (again).
    case logIn
    /// The app backend must be reached by https.
    case plainHTTP
    /// A token could not be revoked.
    case revokeToken(user: String)
    /// No app backend answers at the address.
    case noBackend
    /// The problem with the app backend's certificate.
    case backendCertificate(DistrustCause)
    /// There is no session bus.
    case noDesktop
    /// Nothing on the bus shows notifications.
    case noNotifications
    /// The notification service does not answer, or refuses.
    case notifications
}
