import AppBackend
import HTTPTypes
import HubProtocol
import Hummingbird
import WebPages

/// How a reader gets in, and out.
enum EntryRoutes {
    static let routes = [
        // A form, since whoever previews a link would use it up.
        PageRoute(.get, "/enter") { request in
            let code = request.request.uri.queryParameters.get("code") ?? ""
            return request.page(InvitationPage(frame: request.frame, code: code))
        },
        PageRoute(.post, "/enter") { try await enter($0) },
        PageRoute(.post, "/leave") { try await leave($0) },
    ]

    private static func enter(_ request: PageRequest) async throws -> Response {
        let form = try await request.form()
        guard try await request.session == nil else { return request.seeOther(request.home) }
        guard try await request.pages.store.use(form["code"] ?? "", hub: request.hub.name, at: request.now) else {
            throw PageRefusal(
                .forbidden,
                request.frame,
                "This invitation cannot be used",
                "It has been used, or has expired. Ask the operator for another one."
            )
        }
        let cookie = try await begin(ReaderChoice(categories: []), request)
        return request.seeOther(request.home, cookie: cookie)
    }

    private static func leave(_ request: PageRequest) async throws -> Response {
        _ = try await request.form()
        if let session = try await request.session {
            try await request.hub.delete(session.installation, channel: session.channel)
            try await request.pages.store.end(session)
        }
        return request.seeOther(request.home, cookie: await request.cookie.clearing)
    }

    /// Begins a session, and registers what it reads.
    ///
    /// - Returns: The cookie to set.
    static func begin(_ choice: ReaderChoice, _ request: PageRequest) async throws -> String {
        let secret = SessionSecret.random()
        let session: ReaderSession
        do {
            session = try await request.pages.store.begin(
                secret,
                hub: request.hub.name,
                network: request.context.network.description,
                choice: choice,
                at: request.now
            )
        } catch SessionRefusal.tooManyOfNetwork {
            throw PageRefusal(
                .tooManyRequests,
                request.frame,
                "Too many new readers",
                "Many have begun to read from your network in the last hour. Try again later."
            )
        } catch SessionRefusal.full {
            throw PageRefusal(
                .serviceUnavailable,
                request.frame,
                "There are too many readers",
                "This server can take no more for now."
            )
        }
        do {
            try await request.hub.put(
                choice.installation(session.installation, channel: session.channel),
                channel: session.channel
            )
        } catch {
            try? await request.pages.store.end(session)
            throw error
        }
        return await request.cookie.setting(secret, for: ReaderSession.lifetime)
    }
}
