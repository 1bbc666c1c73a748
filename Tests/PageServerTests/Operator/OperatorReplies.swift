import HubTestServer
import OutboundHTTP
import Testing

@testable import PageServer

extension PagesHub {
    /// Begins a reader's session, and gives its cookie as browsers send it.
    func subscribe(_ category: String, sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let reply = try await send("POST", "/-/news/categories", form: "category=\(category)")
        let setting = try #require(reply.cookie, "\(reply.body)", sourceLocation: sourceLocation)
        return String(setting.prefix { $0 != ";" })
    }
}

extension Reply {
    var location: String? { headers["Location"] }

    var cookie: String? { headers["Set-Cookie"] }

    var cacheControl: String? { headers["Cache-Control"] }

    /// The value of a hidden field.
    func field(_ name: String) -> String? {
        let start = body.firstRange(of: "name=\"\(name)\" value=\"")?.upperBound
        return start.map { String(body[$0...].prefix { $0 != "\"" }) }
    }
}
