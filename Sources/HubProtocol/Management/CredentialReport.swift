/// The state of a hub's credentials for push services: the answer to our own routes `GET /{hub}/credentials` and `POST
/// /{hub}/credentials/test`.
///
/// It contains no part of a credential.
package struct CredentialReport: Sendable, Equatable, Codable {
    package struct Credential: Sendable, Equatable, Codable {
        package let platform: Platform
        /// True if messages can be sent with it, as far as is known.
        package let isUsable: Bool
        /// The reason why it is not usable, or the result of a test; one line, for people.
        package var reason: String?
        /// The expiry in ISO 8601 in UTC; absent for a credential that does not expire.
        package var expiresAt: String?

        package init(platform: Platform, isUsable: Bool, reason: String? = nil, expiresAt: String? = nil) {
            self.platform = platform
            self.isUsable = isUsable
            self.reason = reason
            self.expiresAt = expiresAt
        }
    }

    /// The credentials by platform.
    package let credentials: [Credential]

    package init(credentials: [Credential]) { self.credentials = credentials }
}
