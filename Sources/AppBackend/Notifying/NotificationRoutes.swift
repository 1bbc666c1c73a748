import Formats
import HTTPTypes
import HubProtocol
import Hummingbird

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
        let notifier = request.backend.notifier
        let choice = try PlatformChoice(pns: pns)
        let addressee = try addressee(name)
        try notifier.checkRight(of: caller, to: addressee)
        guard let text = try JSONBody.read(try await request.body(limit: maximumBytes)).string else {
            throw BackendRefusal.badRequest(#"The body is not a JSON string, such as "hello"."#)
        }
        try notifier.admit(caller, to: addressee)
        let notification = TextNotification(sender: caller.name, text: text)
        let results = try await notifier.send(to: addressee, on: choice) { notification.message(for: $0) }
        return try results.response(asJSON: request.asksForJSON, log: request.backend.hubFailures)
    }

    /// - Throws: 400 for text that is not a valid name, such as a tag expression.
    static func addressee(_ text: String) throws(BackendRefusal) -> UserName {
        guard let name = UserName(text) else {
            throw .badRequest("'\(text.excerpt)' is not a user name: use 1 to 64 characters of A-Z a-z 0-9 . _ @ -")
        }
        return name
    }
}
