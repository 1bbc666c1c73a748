import AppBackend
import HubServer
import Hummingbird
import Signals
import WebEdge
import WebPages

/// A reader with a session.
struct Visitor: Sendable {
    var session: ReaderSession
    /// The signed-in user, as the app backend has just confirmed.
    var caller: Caller?
}

extension PageRequest {
    /// The app backend whose users can sign in at this hub's pages; `nil` if nobody can sign in.
    ///
    /// - Throws: ``BackendRefusal`` when its database cannot be used at the moment.
    var backend: AppBackend? { get async throws(BackendRefusal) { try await pages.backend(of: hub) } }

    var registrar: ReaderRegistrar { ReaderRegistrar(pages: pages, hub: hub) }

    /// The reader; `nil` without a session, after it has expired, and for a reader admitted as a user who is no longer
    /// signed in.
    ///
    /// The app backend is asked each time, so a revoked token, a new password and a removed account take effect at
    /// once.
    var visitor: Visitor? {
        get async throws {
            guard let secret = secret(of: await cookie), let session = try await storedSession else { return nil }
            guard session.user != nil else { return try await admitted(Visitor(session: session)) }
            // Without the app backend in this process no user can be checked, and nobody is signed out.
            guard let backend = try await backend else { return try await admitted(Visitor(session: session)) }
            if let caller = try await caller(of: session, secret, backend) {
                return Visitor(session: session, caller: caller)
            }
            guard hasTurn else { return try await changing { $1 } }
            return try await leave(session)
        }
    }

    /// Makes a change of the visitor's session, one at a time for each session.
    ///
    /// The change gets the visitor as of its turn: what the request has read before may be outdated. It gets the
    /// request, too, which has the turn.
    ///
    /// - Throws: 503 when too many requests wait, and errors of the change.
    func changing<Output>(_ change: (PageRequest, Visitor?) async throws -> Output) async throws -> Output {
        // A request without a session has nothing to share.
        guard !hasTurn, let session = try await storedSession else { return try await change(self, try await visitor) }
        return try await pages.turns.pass(session.id) {
            var request = self
            request.hasTurn = true
            return try await change(request, try await request.visitor)
        }
    }

    /// The session of the request's cookie, even if it admits nobody at the moment.
    var storedSession: ReaderSession? {
        get async throws {
            let cookie = await cookie
            guard let secret = secret(of: cookie),
                var session = try await pages.store.session(secret, hub: hub.name, at: now)
            else { return nil }
            session.position = cookie.position(in: request.headers) ?? session.position
            return session
        }
    }

    private func caller(
        of session: ReaderSession,
        _ secret: SessionSecret,
        _ backend: AppBackend
    ) async throws -> Caller? {
        guard let token = session.sealedToken.flatMap({ TokenSeal.open($0, with: secret) }) else { return nil }
        do {
            let caller = try await backend.caller(token: token, context.client)
            return caller.name == session.user ? caller : nil
        } catch SignInRefusal.wrongToken {
            return nil
        }
    }

    /// Removes the user from a session, with the user's messages that the hub has for it.
    ///
    /// - Returns: The remaining reader; `nil` if only the user was admitted.
    func leave(_ session: ReaderSession) async throws -> Visitor? {
        let registrar = registrar
        try await registrar.remove(session)
        try await pages.store.setSignedOut(session)
        var session = session
        (session.user, session.sealedToken) = (nil, nil)
        guard let visitor = try await admitted(Visitor(session: session)) else { return nil }
        try await registrar.register(visitor, context.client)
        return visitor
    }

    /// Registers installations of a visitor in the session's turn, and removes them if the visitor's account or token has
    /// ended meanwhile.
    ///
    /// Otherwise the browser would continue to get messages, including those to its former user.
    ///
    /// - Throws: 401 if the installations have been removed, and errors of `register`.
    func registering(_ visitor: Visitor, _ register: () async throws -> Void) async throws {
        try await register()
        if let present = try await self.visitor, present.caller?.name == visitor.caller?.name { return }
        try await registrar.remove(visitor.session)
        throw PageRefusal.ended(frame)
    }

    /// Ends the session of a reader who may not read without an account.
    private func admitted(_ visitor: Visitor) async throws -> Visitor? {
        if visitor.session.isInvited || hasOpenAccess { return visitor }
        // A user who cannot be checked now remains signed in.
        guard visitor.session.user == nil else { return nil }
        guard hasTurn else { return try await changing { $1 } }
        try await registrar.remove(visitor.session)
        try await pages.store.end(visitor.session)
        return nil
    }

    /// True for a client that may read without an account and without an invitation.
    var hasOpenAccess: Bool { pages.accessPolicy.admits(request, peer: context.client.peer, isProven: false) }

    /// The frame of a page for a reader.
    func frame(for visitor: Visitor?) -> PageFrame {
        var frame = frame
        frame.user = visitor?.caller?.name.text
        if visitor?.caller?.mayUseDesk == true { frame.desk = "\(operatorRoot)send" }
        // An unusable database has already been logged; pages work without users.
        if frame.user == nil, pages.hasUsers(hub) { frame.signIn = "\(home)sign-in" }
        return frame
    }
}
