import AppBackend
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import NIOCore
import WebEdge
import WebPages

/// The page at `/`, for browsers whose users have typed only the server's name.
///
/// It leads readers to the pages of their hub. Others do not learn the names of hubs.
struct FrontPage: Sendable {
    /// The largest number of cookies that are looked up; browsers of readers have one for each of their hubs.
    private static let maximumCookies = 8

    let pages: PageServer

    func response(to request: Request, _ context: WebContext<Never>) async throws -> Response {
        for name in SessionCookie.hubs(in: request.headers).prefix(Self.maximumCookies) {
            guard let hub = pages.hub(name) else { continue }
            let visit = PageRequest(pages: pages, hub: hub, request: request, context: context)
            try await pages.noteIdentity(of: hub)
            if try await visit.visitor != nil { return visit.seeOther(visit.home) }
        }
        if let hub = pages.hub(pages.service.primaryHubName) {
            let visit = PageRequest(pages: pages, hub: hub, request: request, context: context)
            if visit.hasOpenAccess { return visit.seeOther(visit.home) }
        }
        let page = NoticePage(frame: PageRefusal.server(request.words), .frontPage)
        return PageHeaders.html(ByteBuffer(string: pages.templates.render(page)))
    }
}
