/// The outcome of a notification to a user on one platform, as an app backend reports it.
package struct PlatformOutcome: Sendable, Equatable, Codable {
    /// Values of ``outcome``; another app backend may have more.
    package enum Name {
        package static let accepted = "accepted"
        package static let skipped = "skipped"
        package static let failed = "failed"
    }

    package let platform: String
    package let outcome: String
    /// Absent if it was accepted.
    package let reason: String?

    package init(platform: String, outcome: String, reason: String? = nil) {
        self.platform = platform
        self.outcome = outcome
        self.reason = reason
    }
}
