/// The state of a hub's credentials for push services: the answer of our own routes `GET /{hub}/credentials` and `POST
/// /{hub}/credentials/test`.
///
/// Nothing of a credential itself is in it.
package struct CredentialReport: Sendable, Equatable, Codable {
    package struct Credential: Sendable, Equatable, Codable {
        package let platform: Platform
        /// Something can be sent with it, as far as is known.
        package let isUsable: Bool
        /// Why not, or what a test has found; one line, for people.
        package var reason: String?
        /// ISO 8601 in UTC; absent for one that does not expire.
        package var expiresAt: String?

        package init(platform: Platform, isUsable: Bool, reason: String? = nil, expiresAt: String? = nil) {
            self.platform = platform
            self.isUsable = isUsable
            self.reason = reason
            self.expiresAt = expiresAt
        }
    }

    /// By platform.
    package let credentials: [Credential]

    package init(credentials: [Credential]) { self.credentials = credentials }
}
