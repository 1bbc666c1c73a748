import Foundation
import Synchronization

/// A web site whose documents a test sets.
package final class FakeSite: Sendable {
    package struct Document: Sendable {
        package var body = ""
        package var status = 200
        package var headers: [(String, String)] = []
        /// Sent as `ETag` and compared with `If-None-Match`.
        package var etag: String?
        /// Bytes announced beyond the body: the connection ends early.
        package var missing = 0
        package var isHangUp = false

        package init(
            body: String = "",
            status: Int = 200,
            headers: [(String, String)] = [],
            etag: String? = nil,
            missing: Int = 0,
            isHangUp: Bool = false
        ) {
            self.body = body
            self.status = status
            self.headers = headers
            self.etag = etag
            self.missing = missing
            self.isHangUp = isHangUp
        }
    }

    private struct State {
        var documents: [String: Document] = [:]
        var requests: [RecordedRequest] = []
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    private let shared = Shared()
    private let server: ScriptedHTTPServer

    package init() throws {
        let shared = shared
        server = try ScriptedHTTPServer { request in
            shared.state.withLock { state in
                state.requests.append(request)
                guard let document = state.documents[request.path] else { return .status(404) }
                guard !document.isHangUp else { return .hangUp }
                var headers = document.headers
                if let etag = document.etag {
                    headers.append(("ETag", etag))
                    if request.header("If-None-Match") == etag { return .status(304, headers: headers) }
                }
                let body = Array(document.body.utf8) + Array(repeating: 0x20, count: document.missing)
                let reply = ScriptedReply.status(document.status, headers: headers, body: body)
                return document.missing > 0 ? reply.cut(afterBytes: document.body.utf8.count) : reply
            }
        }
    }

    package func url(_ path: String) -> String { server.url(path) }

    package func set(_ path: String, _ document: Document) {
        shared.state.withLock { $0.documents[path] = document }
    }

    package func requests(_ path: String) -> [RecordedRequest] {
        shared.state.withLock { $0.requests.filter { $0.path == path } }
    }

    /// An RSS document with these items, given newest first.
    package static func rss(_ items: [Item], isCut: Bool = false) -> String {
        let body = items.map { item in
            var text = "<item><title>\(item.title)</title>"
            if let id = item.id { text += "<guid isPermaLink=\"false\">\(id)</guid>" }
            if let link = item.link { text += "<link>\(link)</link>" }
            if let date = item.date { text += "<pubDate>\(date)</pubDate>" }
            return text + "</item>"
        }
        let head = "<?xml version=\"1.0\"?><rss version=\"2.0\"><channel><title>Example</title>"
        return head + body.joined() + (isCut ? "<item><title>cut" : "</channel></rss>")
    }

    package struct Item: Sendable {
        package var id: String?
        package var title: String
        package var link: String?
        package var date: String?

        package init(_ title: String, id: String? = nil, link: String? = nil, date: String? = nil) {
            self.title = title
            self.id = id ?? "id-\(title)"
            self.link = link
            self.date = date
        }
    }
}
