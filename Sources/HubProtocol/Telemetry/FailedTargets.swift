/// Targets of push services that were not sent a message, and why: the answer of our own route
/// `GET /{hub}/deliveries/{message}/failures`.
package struct FailedTargets: Sendable, Equatable, Codable {
    /// Maximum number of targets in an answer.
    package static let maximumListed = 1_000

    package struct Target: Sendable, Equatable, Codable {
        package let platform: Platform
        /// In the words of the protocol's telemetry.
        package let outcome: String
        /// One line, for people.
        package let reason: String
        /// Absent for a handle of a direct send, and for a registration that was removed without a trace.
        package var registration: RegistrationID?
        package var installation: InstallationID?
        /// The dead handle; otherwise the registration's current handle, or its last one before it was removed.
        package var handle: String?

        package init(platform: Platform, outcome: OutcomeName, reason: String) {
            self.platform = platform
            self.outcome = outcome.rawValue
            self.reason = reason
        }
    }

    package let targets: [Target]
    /// The beginning of the next page; absent on the last one.
    package let next: String?

    package init(targets: [Target], next: String?) {
        self.targets = targets
        self.next = next
    }
}
