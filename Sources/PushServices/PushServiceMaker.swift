package import HubProtocol

/// Makes the push services that a hub's credentials are for.
package protocol PushServiceMaker: Sendable {
    /// The credentials that something can be sent with.
    var kinds: Set<PlatformCredential.Kind> { get }

    /// Credentials that every hub has until it is given its own.
    var standing: [PlatformCredential] { get }

    /// Makes a service for a credential; its connections are made when they are needed.
    ///
    /// - Throws: ``BadCredential``.
    func service(for credential: PlatformCredential) throws(BadCredential) -> any PushService

    /// The app, project or team whose handles a credential reaches; `nil` if it is not known.
    ///
    /// The same for every call with the same credential. Opening a certificate takes milliseconds: keep the answer.
    func audience(of credential: PlatformCredential) -> String?
}

extension PushServiceMaker {
    package func audience(of credential: PlatformCredential) -> String? { credential.audience }
}

/// Why a credential can be used for nothing.
package struct BadCredential: Error, Sendable, Equatable, CustomStringConvertible {
    /// Names the property and what is wrong with it, never its value.
    package let description: String

    package init(_ reason: String) { description = reason }
}
