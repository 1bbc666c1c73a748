import AppBackend
import HubProtocol

/// Keeps the installations of sessions at the hub, with the tag of the user who is signed in.
///
/// The app backend sets a user's tag. To lose the tag an installation is deleted, with what the hub still has for the user,
/// and registered again.
struct ReaderRegistrar: Sendable {
    let hub: PageHub
    /// `nil` where nobody can sign in.
    let backend: AppBackend?

    /// Registers what a visitor reads.
    ///
    /// - Throws: ``BackendRefusal`` for a user; a `HubClientError` otherwise.
    func register(_ visitor: Visitor, _ context: BackendRequestContext) async throws {
        try await register(visitor.session, as: visitor.caller?.name, context)
    }

    func register(_ session: ReaderSession, as user: UserName?, _ context: BackendRequestContext) async throws {
        let installation = session.choice.installation(session.installation, channel: session.channel)
        if let user, let backend {
            try await backend.register(installation, of: user, context)
        } else {
            try await hub.put(installation, channel: session.channel)
        }
    }

    /// Deletes the installation of a session.
    func remove(_ session: ReaderSession) async throws {
        if let user = session.user { try await backend?.unregister(session.installation, of: user) }
        // The app backend leaves what is not the user's.
        try await hub.delete(session.installation, channel: session.channel)
    }
}
