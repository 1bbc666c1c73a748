import AppBackend
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import Logging
import Signals
import WebEdge
import WebPages

/// The routes by which readers enter and leave.
enum EntryRoutes {
    static let routes = [
        // A form, because a preview of the link must not use up the invitation.
        PageRoute(.get, "/enter") { request in
            let code = request.query["code"] ?? ""
            return request.page(EntryPage(frame: request.frame, code: code))
        },
        PageRoute(.post, "/enter") { try await enter($0) },
        PageRoute(.post, "/leave") { try await leave($0) },
    ]

    private static func enter(_ request: PageRequest) async throws -> Response {
        let form = try await request.form()
        guard try await request.visitor == nil else { return request.seeOther(request.home) }
        let (store, code, hub) = (request.pages.store, form["code"] ?? "", request.hub.name)
        let unusable = request.refusal(.forbidden, .invitationUnusable)
        guard try await store.isUsable(code, hub: hub, at: request.now) else { throw unusable }
        let begun = try await begin(ReaderChoice(categories: []), isInvited: true, request)
        // The last step, so that a failed entry does not use up the invitation.
        guard try await store.use(code, hub: hub, at: request.now) else {
            try await request.registrar.remove(begun.session)
            try await store.end(begun.session)
            throw unusable
        }
        return request.seeOther(request.home, cookie: await request.cookie.setting(begun.secret))
    }

    private static func leave(_ request: PageRequest) async throws -> Response {
        _ = try await request.form()
        // Revoke first, so that it takes effect even if the hub does not answer.
        try await request.revokeToken()
        try await request.changing { request, _ in
            // Without its token a session may have ended already, or go on without its user.
            guard let session = try await request.storedSession else { return }
            try await request.registrar.remove(session)
            try await request.pages.store.end(session)
        }
        return request.seeOther(request.home, cookie: await request.cookie.clearing)
    }

    /// Begins a session, and registers its installation.
    ///
    /// `isInvited` is false for a reader who entered without an invitation: where access is open, or as `user`.
    static func begin(
        _ choice: ReaderChoice,
        isInvited: Bool,
        user: UserName? = nil,
        _ request: PageRequest
    ) async throws -> (session: ReaderSession, secret: SessionSecret) {
        let secret = SessionSecret.random()
        let (session, ended): (ReaderSession, ReaderSession?)
        do {
            (session, ended) = try await request.pages.store.begin(
                secret,
                hub: request.hub.name,
                network: request.context.client.network.description,
                choice: choice,
                isInvited: isInvited,
                user: user,
                at: request.now
            )
        } catch SessionRefusal.tooManyOfNetwork {
            throw request.refusal(.tooManyRequests, .manyReaders)
        } catch SessionRefusal.full {
            throw request.refusal(.serviceUnavailable, .hubFull)
        }
        if let ended { await remove(ended, request) }
        do {
            try await request.registrar.register(session, as: nil, request.context.client)
        } catch {
            try? await request.pages.store.end(session)
            throw error
        }
        return (session, secret)
    }

    /// Removes a session that made room for another one.
    private static func remove(_ ended: ReaderSession, _ request: PageRequest) async {
        do {
            // Never wait for it: this request may have another session's turn.
            _ = try await request.pages.turns.passIfFree(ended.id) {
                try await request.registrar.remove(try await request.pages.store.session(id: ended.id) ?? ended)
                try await request.pages.store.end(ended)
            }
        } catch {
            request.pages.logger.debug(
                "cannot remove a session that made room; the hourly round will",
                metadata: ["error.reason": "\(error)"]
            )
        }
    }
}
