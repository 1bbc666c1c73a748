import AppBackend
import HTTPTypes
import HubProtocol
import Hummingbird
import WebEdge
import WebPages

/// The routes that send a message to a user by name.
enum NotifyRoutes {
    /// The largest number of characters of a message.
    private static let maximumText = 1_000

    static let routes = [
        PageRoute(.post, "/notify") { try await notify($0) }
    ]

    /// The empty form; `nil` for a reader who is not signed in.
    static func form(_ frame: PageFrame, _ visitor: Visitor?, _ request: PageRequest) throws -> SendForm? {
        guard frame.user != nil else { return nil }
        return SendForm(
            frame: frame,
            platforms: AppBackend.platformNames,
            mayNotifyOthers: visitor?.caller?.mayNotifyOthers ?? true
        )
    }

    private static func notify(_ request: PageRequest) async throws -> Response {
        let form = try await request.form()
        guard let user = try await request.signedIn() else { return request.seeOther("\(request.home)sign-in") }
        // Browsers send a line break as two characters.
        let text = (form["text"] ?? "").replacing("\r\n", with: "\n")
        let draft = Draft(
            user: form["user"] ?? "",
            text: text,
            platforms: form.all("platform"),
            isSecure: form["secure"] != nil
        )
        do {
            try check(draft, request.words)
            return page(user, request, draft, try await send(draft, user, request))
        } catch let refusal as BackendRefusal {
            return page(user, request, draft, [], refusal)
        }
    }

    private static func send(
        _ draft: Draft,
        _ user: SignedInReader,
        _ request: PageRequest
    ) async throws -> [PlatformOutcome] {
        if draft.isSecure || user.backend.notifiesSecurely, await !request.context.client.isPrivate {
            throw BackendRefusal.forbidden(request.words[.sendNeedsHTTPS])
        }
        guard draft.isSecure else {
            return try await user.backend.notify(
                draft.user,
                draft.text,
                on: draft.platforms,
                by: user.caller,
                request.context.client
            )
        }
        return try await user.backend.notifySecurely(draft.user, draft.text, by: user.caller, request.context.client)
    }

    /// The form as the sender filled it in.
    private struct Draft {
        let user: String
        let text: String
        let platforms: [String]
        let isSecure: Bool
    }

    private static func check(_ draft: Draft, _ words: PageWords) throws(BackendRefusal) {
        let (text, platforms) = (draft.text, draft.platforms)
        guard text.contains(where: { !$0.isWhitespace }) else { throw .badRequest(words[.sendEmpty]) }
        guard text.count <= maximumText else {
            throw .badRequest(words.text(.sendTooLong, ["count": "\(maximumText)"]))
        }
        guard !draft.isSecure || platforms.isEmpty || platforms.count == AppBackend.platformNames.count else {
            throw .badRequest(words[.sendSecureToAll])
        }
        guard draft.isSecure || !platforms.isEmpty else { throw .badRequest(words[.sendChoosePlatform]) }
        guard platforms.allSatisfy(AppBackend.platformNames.contains), Set(platforms).count == platforms.count else {
            throw .badRequest(words[.sendNoSuchPlatform])
        }
    }
}

extension NotifyRoutes {
    private static func page(
        _ user: SignedInReader,
        _ request: PageRequest,
        _ draft: Draft,
        _ outcomes: [PlatformOutcome],
        _ refusal: BackendRefusal? = nil
    ) -> Response {
        let frame = request.frame(for: user.visitor)
        let isSent = outcomes.contains { $0.outcome == PlatformOutcome.Name.accepted }
        let page = NotifyPage(
            frame: frame,
            heading: isSent ? frame.words.text(.sendSent, ["name": draft.user]) : frame.words[.sendNotSent],
            results: outcomes.map { .init(platform: $0.platform, outcome: $0.outcome, reason: $0.reason) },
            refusal: refusal?.reason,
            send: SendForm(
                frame: frame,
                platforms: AppBackend.platformNames,
                chosen: draft.platforms,
                user: String(draft.user.prefix(64)),
                text: isSent ? "" : draft.text,
                isSecure: draft.isSecure,
                mayNotifyOthers: user.caller.mayNotifyOthers
            )
        )
        var response = request.page(page, status: refusal?.status ?? (isSent ? .ok : .badGateway))
        response.headers[.retryAfter] = refusal?.headers[.retryAfter]
        return response
    }
}
