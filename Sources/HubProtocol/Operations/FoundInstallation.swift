/// An installation as a hub stores it.
package struct FoundInstallation: Sendable, Equatable {
    /// The installation, without its push channel for platform `stream`, which is a secret.
    package let installation: Installation
    /// True if the push channel that the call named is the installation's.
    package let hasSameChannel: Bool

    package init(installation: Installation, hasSameChannel: Bool) {
        self.installation = installation
        self.hasSameChannel = hasSameChannel
    }
}
