import AppBackend
import HTTPTypes
import HubClient
import Hummingbird
import WebPages

/// Sending to a user by name.
enum NotifyRoutes {
    /// Characters of a message.
    private static let maximumText = 1_000

    static let routes = [
        PageRoute(.post, "/notify") { try await notify($0) }
    ]

    /// The empty form; `nil` where nobody can sign in.
    static func form(_ frame: PageFrame, _ visitor: Visitor?, _ request: PageRequest) throws -> SendForm? {
        guard frame.user != nil || frame.signIn != nil else { return nil }
        return SendForm(
            frame: frame,
            platforms: AppBackend.platformNames,
            mayNotifyOthers: visitor?.caller?.mayNotifyOthers ?? true
        )
    }

    private static func notify(_ request: PageRequest) async throws -> Response {
        let form = try await request.form()
        guard let user = try await request.signedIn() else { return request.seeOther("\(request.home)sign-in") }
        // A browser sends a line break as two characters.
        let text = (form["text"] ?? "").replacing("\r\n", with: "\n")
        let (name, chosen) = (form["user"] ?? "", form.all("platform"))
        do {
            try check(text, chosen)
            let outcomes = try await user.backend.notify(name, text, on: chosen, by: user.caller)
            let isSent = outcomes.contains { $0.outcome == "accepted" }
            return page(user, request, name, isSent ? "" : text, chosen, outcomes)
        } catch let refusal as BackendRefusal {
            return page(user, request, name, text, chosen, [], refusal)
        }
    }

    private static func check(_ text: String, _ platforms: [String]) throws(BackendRefusal) {
        guard text.contains(where: { !$0.isWhitespace }) else { throw .badRequest("The message is empty.") }
        guard text.count <= maximumText else {
            throw .badRequest("The message has more than \(maximumText) characters.")
        }
        guard !platforms.isEmpty else { throw .badRequest("Choose a platform.") }
        guard platforms.allSatisfy(AppBackend.platformNames.contains), Set(platforms).count == platforms.count else {
            throw .badRequest("There is no such platform.")
        }
    }
}

extension NotifyRoutes {
    private static func page(
        _ user: SignedInReader,
        _ request: PageRequest,
        _ name: String,
        _ text: String,
        _ chosen: [String],
        _ outcomes: [BackendClient.PlatformOutcome],
        _ refusal: BackendRefusal? = nil
    ) -> Response {
        let frame = request.frame(for: user.visitor)
        let isSent = outcomes.contains { $0.outcome == "accepted" }
        let page = NotifyPage(
            frame: frame,
            heading: isSent ? "Sent to \(name)" : "Not sent",
            results: outcomes.map { .init(platform: $0.platform, outcome: $0.outcome, reason: $0.reason) },
            refusal: refusal?.reason,
            send: SendForm(
                frame: frame,
                platforms: AppBackend.platformNames,
                chosen: chosen,
                user: String(name.prefix(64)),
                text: text,
                mayNotifyOthers: user.caller.mayNotifyOthers
            )
        )
        return request.page(page, status: refusal?.status ?? (isSent ? .ok : .badGateway))
    }
}
