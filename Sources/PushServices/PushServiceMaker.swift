package import HubProtocol

/// Makes the push services that a hub's credentials are for.
package protocol PushServiceMaker: Sendable {
    /// Kinds of credentials with which messages can be sent.
    var kinds: Set<PlatformCredential.Kind> { get }

    /// Credentials of hubs that have none of their own.
    var standing: [PlatformCredential] { get }

    /// Makes a service for a credential; it connects when it first sends.
    ///
    /// - Throws: ``BadCredential``.
    func service(for credential: PlatformCredential) throws(BadCredential) -> any PushService

    /// Checks whether a credential can be used, as far as that is possible without the push service.
    ///
    /// - Throws: ``BadCredential``.
    func check(_ credential: PlatformCredential) throws(BadCredential)

    /// Returns the app, project or team whose handles a credential reaches; `nil` if it is not known.
    ///
    /// Every call with the same credential returns the same. Keep the result: opening a certificate takes milliseconds.
    func audience(of credential: PlatformCredential) -> String?
}

extension PushServiceMaker {
    package func check(_ credential: PlatformCredential) throws(BadCredential) {}

    package func audience(of credential: PlatformCredential) -> String? { credential.audience }
}

/// The reason why a credential cannot be used.
package struct BadCredential: Error, Sendable, Equatable, CustomStringConvertible {
    /// The property and what is wrong with it, never its value.
    package let description: String
    /// True for a credential that was valid and has expired.
    package let hasExpired: Bool

    package init(_ reason: String, hasExpired: Bool = false) {
        description = reason
        self.hasExpired = hasExpired
    }
}
