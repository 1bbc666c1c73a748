import Formats
import HTTPTypes
import HubProtocol
import Hummingbird
import Settings
import WebEdge

/// Notifying users by name (protocol §9).
enum NotificationRoutes {
    /// The largest request body, in bytes, which is the hub's own limit.
    static let maximumBytes = Message.maximumBytes

    static let routes = [
        BackendRoute(.post, "/api/notifications") { request in
            let caller = try request.caller
            let query = try request.query
            switch (query["pns"], query["to_tag"]) {
            case (let pns?, let name?): return try await notify(request, caller, pns: pns, name: name)
            case (nil, nil): return try await SecureRoutes.push(request, caller)
            case (_?, nil): throw BackendRefusal.badRequest("The query has 'pns' but not 'to_tag'.")
            case (nil, _?): throw BackendRefusal.badRequest("The query has 'to_tag' but not 'pns'.")
            }
        }
    ]

    private static func notify(
        _ request: BackendRequest,
        _ caller: Caller,
        pns: String,
        name: String
    ) async throws -> Response {
        let backend = request.backend
        let choice = try PlatformChoice(pns: pns)
        let addressee = try addressee(name)
        try backend.notifier.checkRight(of: caller, to: addressee)
        guard let text = try JSONBody.read(try await request.request.bytes(limit: maximumBytes)).string else {
            throw BackendRefusal.badRequest(#"The body is not a JSON string, such as "hello"."#)
        }
        let results = try await backend.notify(addressee, text, on: choice, by: caller, request.network)
        return try results.response(asJSON: request.asksForJSON, log: backend.hubFailures)
    }

    /// - Throws: 400 for text that is not a valid name, such as a tag expression.
    static func addressee(_ text: String) throws(BackendRefusal) -> UserName {
        guard let name = UserName(text) else {
            throw .badRequest("'\(text.excerpt)' is not a user name: use 1 to 64 characters of A-Z a-z 0-9 . _ @ -")
        }
        return name
    }
}

extension AppBackend {
    /// Notifies a user on some platforms: with the text, or with the id of the text if the configuration asks for that.
    ///
    /// - Throws: ``BackendRefusal`` for a caller who may not notify the user or does so too often, and for a hub that
    ///   does not report its platforms; for secure notifications as ``push(_:to:on:by:_:)``.
    func notify(
        _ addressee: UserName,
        _ text: String,
        on platforms: PlatformChoice,
        by caller: Caller,
        _ network: ClientNetwork
    ) async throws -> PlatformResults {
        if notifiesSecurely {
            return try await push(text, to: addressee, on: platforms, by: caller, network)
        }
        try notifier.checkRight(of: caller, to: addressee)
        try notifier.admit(caller, to: addressee)
        let notification = TextNotification(sender: caller.name, text: text)
        return try await notifier.send(to: addressee, on: platforms) { notification.message(for: $0) }
    }
}
