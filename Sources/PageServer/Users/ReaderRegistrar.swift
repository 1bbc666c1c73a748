import AppBackend
import HubProtocol
import HubServer
import Signals
import WebEdge
import WebPages

/// Keeps the installations of sessions at the hub, with the tag of the user who is signed in.
///
/// The app backend sets a user's tag. To remove the tag, an installation is deleted, together with the user's messages
/// that the hub still has for it, and registered again.
struct ReaderRegistrar: Sendable {
    let pages: PageServer
    let hub: LocalHub

    /// The app backend; `nil` if nobody can sign in.
    private var backend: AppBackend? { get async throws(BackendRefusal) { try await pages.backend(of: hub) } }

    /// Registers all installations of a visitor.
    ///
    /// - Throws: ``BackendRefusal`` for a signed-in user; a `HubError` otherwise.
    func register(_ visitor: Visitor, _ client: WebClient) async throws {
        try await register(visitor.session, as: visitor.caller?.name, client)
    }

    func register(_ session: ReaderSession, as user: UserName?, _ client: WebClient) async throws {
        try await registerStream(session, as: user, client)
        if let browser = session.browser { try await register(browser, of: session, as: user, client) }
    }

    /// Registers the installation of a session's open pages.
    ///
    /// Open pages get what a reload would show: before a choice, the news of all categories.
    func registerStream(_ session: ReaderSession, as user: UserName?, _ client: WebClient) async throws {
        var choice = session.choice
        if choice.categories.isEmpty {
            let announced = try await hub.categories().compactMap { try? Tag($0) }
            let choosable = announced.filter { PublicAudience.isPublic($0, pages.reservedTags) }
            choice = choice.orFirst(pages.maximumCategories, of: choosable)
        }
        let installation = choice.installation(session.installation, channel: session.channel)
        try await put(installation, channel: session.channel, as: user, client)
    }

    /// Registers a session's browser; before a choice it gets only messages to everybody and to its user.
    func register(
        _ browser: SessionBrowser,
        of session: ReaderSession,
        as user: UserName?,
        _ client: WebClient
    ) async throws {
        try await put(session.choice.installation(browser), channel: nil, as: user, client)
    }

    private func put(
        _ installation: Installation,
        channel: PushChannelSecret?,
        as user: UserName?,
        _ client: WebClient
    ) async throws {
        if let user, let backend = try await backend {
            try await backend.register(installation, of: user, client)
        } else {
            try await hub.put(installation, channel: channel)
        }
    }

    /// Deletes the installations of a session.
    func remove(_ session: ReaderSession) async throws {
        try await removeBrowser(of: session)
        if let user = session.user { try await backend?.unregister(session.installation, of: user) }
        // The app backend does not delete installations without a user.
        try await hub.delete(session.installation, channel: session.channel)
    }

    /// Deletes the installation of a session's browser, with or without a subscription.
    func removeBrowser(of session: ReaderSession) async throws {
        guard let id = session.browserInstallation else { return }
        if let user = session.user { try await backend?.unregister(id, of: user) }
        try await hub.delete(id, channel: nil)
    }

    /// Deletes the installation of a session's browser in the session's turn, unless the session has a subscription.
    func removeUnsubscribedBrowser(ofSession id: Int64) async throws {
        try await pages.turns.pass(id) {
            guard let session = try await pages.store.session(id: id), session.browser == nil else { return }
            try await removeBrowser(of: session)
        }
    }

    /// Deletes installations that earlier versions, crashes and deleted databases have left: their sessions are gone,
    /// or have no subscription.
    ///
    /// The hub is read before the pages' database, which has each installation before the hub has it.
    ///
    /// - Returns: Number of installations that were deleted.
    func removeStrays() async throws -> Int {
        var count = 0
        for kind in ReaderInstallation.allCases {
            var last: String?
            repeat {
                let page = try await hub.installations(prefix: kind.prefix, after: last, limit: Self.readAtOnce)
                last = page.next
                let ours = page.found.filter(kind.isOurs)
                if ours.isEmpty { continue }
                let (known, unsubscribed) = try await pages.store.installations(hub: hub.name)
                for installation in ours where !known.contains(installation.id.folded) {
                    if let session = unsubscribed[installation.id.folded] {
                        try await removeUnsubscribedBrowser(ofSession: session)
                    } else if let backend = try await backend {
                        try await backend.unregister(installation.id)
                    } else {
                        try await hub.delete(installation.id, channel: nil)
                    }
                    count += 1
                }
            } while last != nil
        }
        return count
    }

    /// The number of installations that are read at once.
    private static let readAtOnce = 2_000
}
