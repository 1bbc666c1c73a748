import HubProtocol
import Testing

@testable import PageServer

/// A browser with an operator's session.
struct OperatorBrowser: Sendable {
    static let cookieName = "__Host-newswire.operator-news"

    let hub: PagesHub
    let cookie: String

    /// Follows a link of `newswire hub invite --operator`.
    init(_ hub: PagesHub, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let code = try await hub.store.inviteOperator(of: try HubName("news"), at: hub.clock.now).code
        let reply = try await hub.send("POST", "/-/news/admin/enter", form: "code=\(code)")
        let setting = try #require(reply.cookie, "\(reply.body)", sourceLocation: sourceLocation)
        self.hub = hub
        cookie = String(setting.prefix { $0 != ";" })
    }

    func get(_ path: String) async throws -> Reply {
        try await hub.send("GET", "/-/news/admin/\(path)", cookie: cookie)
    }

    func post(_ path: String, _ form: String = "") async throws -> Reply {
        try await hub.send("POST", "/-/news/admin/\(path)", cookie: cookie, form: form)
    }

    /// The audit log, newest first.
    func actions() async throws -> [OperatorAction] {
        try await hub.store.actions(of: try HubName("news"), limit: 100)
    }
}
