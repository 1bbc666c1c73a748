/// Installations of platform `stream`, agents and readers' pages: the answer of `GET /{hub}/installations`.
///
/// Installations of other platforms are among the registrations.
package struct InstallationList: Sendable, Equatable, Codable {
    /// Maximum number of installations in an answer.
    package static let maximumListed = 1_000

    package struct Entry: Sendable, Equatable, Codable {
        package let id: InstallationID
        package let platform: Platform
        package let tags: [String]
        /// Absent for an installation without a user.
        package let user: String?
        /// The names of its templates, sorted.
        package let templates: [String]
        /// Absent if it does not expire.
        package let expiresAt: String?

        /// Describes an installation without its push channel.
        package init(_ installation: Installation) {
            id = installation.id
            platform = installation.platform
            tags = installation.tags.map(\.text)
            user = installation.userID?.text
            templates = installation.templates.keys.sorted()
            expiresAt = installation.expirationTime.flatMap { ISODateTime.isNever($0) ? nil : ISODateTime.format($0) }
        }
    }

    /// In the order of their creation.
    package let installations: [Entry]
    /// The beginning of the next page; absent on the last one.
    ///
    /// A page before the last one may be empty.
    package let next: String?

    package init(installations: [Entry], next: String?) {
        self.installations = installations
        self.next = next
    }
}
