import AppBackend
import Formats
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// Feeds, and the page with their addresses.
enum FeedPageRoutes {
    /// The name of the secret in a feed's address.
    static let token = "token"
    static let address = "\(PageRoute.home)/feeds/:file"

    static let routes = [
        PageRoute(.get, "/feeds") { try await page($0) },
        PageRoute(.post, "/feeds") { try await create($0) },
        PageRoute(.post, "/feeds/end") { try await end($0) },
        PageRoute(.get, "/feeds/:file") { try await feed($0) },
    ]

    /// Passes a request for a feed on to the hub, which refuses an unknown secret as it refuses anything unknown.
    private static func feed(_ request: PageRequest) async throws -> Response {
        guard let text = request.query[token], let secret = SessionSecret(text),
            let address = try await request.pages.store.feedAddress(secret, hub: request.hub.name, at: request.now)
        else { return await answer(request.request, request.context, by: request.pages.service, isProven: false) }
        if let wait = request.pages.feedRequests.admit(address.id) {
            var refusal = request.refusal(.tooManyRequests, .manyRequests, retryAfter: wait)
            if request.pages.accessPolicy.access == .public { refusal.fields = CrossOrigin.publicFeed }
            throw refusal
        }
        return await answer(request.request, request.context, by: request.pages.service, isProven: true)
    }

    /// The hub's answer; `isProven` is true if the request has the secret of an address.
    static func answer(
        _ request: Request,
        _ context: WebContext<Never>,
        by service: HubService,
        isProven: Bool
    ) async -> Response {
        await service.feeds.answer(
            request,
            of: context.parameters.get("hub") ?? "",
            context.parameters.get("file") ?? "",
            on: context.client.channel,
            isProven: isProven
        )
    }

    private static func page(_ request: PageRequest) async throws -> Response {
        let visitor = try await request.admitted()
        return request.page(try await page(request, visitor))
    }

    private static func page(
        _ request: PageRequest,
        _ visitor: Visitor?,
        token: String? = nil,
        refusal: String? = nil
    ) async throws -> FeedsPage {
        let own = visitor.flatMap { $0.session.isInvited && !request.hasOpenAccess ? $0.session : nil }
        var addresses: [ReaderFeedAddress] = []
        if let own { addresses = try await request.pages.store.feedAddresses(of: own, at: request.now) }
        var shown: [FeedsPage.Link] = []
        if request.hasOpenAccess || token != nil { shown = try await links(request, visitor, token) }
        var page = FeedsPage(
            frame: request.frame(for: visitor),
            links: shown,
            addresses: addresses.map {
                .init(id: "\($0.id)", createdAt: $0.createdAt, usedAt: $0.usedAt)
            },
            access: request.hasOpenAccess ? .open : own == nil ? .accountOnly : .invited
        )
        page.isNew = token != nil
        page.refusal = refusal
        return page
    }

    /// The feeds of the chosen categories, or of all before a choice.
    private static func links(
        _ request: PageRequest,
        _ visitor: Visitor?,
        _ token: String?
    ) async throws -> [FeedsPage.Link] {
        let known = try await request.hub.categories()
        let chosen = visitor?.session.choice.categories ?? []
        let shown = known.filter { name in chosen.isEmpty || (try? Tag(name)).map(chosen.contains) ?? false }
        let query = token.map { "?\(Self.token)=\(PercentEncoding.encode($0))" } ?? ""
        let origin = request.context.client.authority.map { "https://\($0)" } ?? ""
        return shown.prefix(ReaderRoutes.linkedFeeds).map { name in
            let file = "\(request.home)feeds/\(PercentEncoding.encode(name)).atom"
            return FeedsPage.Link(name: name, address: "\(origin)\(file)\(query)")
        }
    }

    private static func create(_ request: PageRequest) async throws -> Response {
        _ = try await request.form()
        guard let visitor = try await request.admitted(), visitor.session.isInvited else {
            return request.seeOther("\(request.home)feeds")
        }
        try request.admitChange(of: visitor.session)
        let created = try await request.pages.store.addFeedAddress(
            for: visitor.session,
            of: request.hub.name,
            at: request.now
        )
        guard let created else {
            let refusal = request.words.text(.feedTooMany, ["count": "\(ReaderFeedAddress.maximumOfReader)"])
            return request.page(try await page(request, visitor, refusal: refusal), status: .conflict)
        }
        // The only response that ever shows it: a redirect would have to contain it.
        return request.page(try await page(request, visitor, token: created))
    }

    private static func end(_ request: PageRequest) async throws -> Response {
        let form = try await request.form()
        guard let visitor = try await request.admitted() else { return request.seeOther("\(request.home)feeds") }
        if let id = form["id"].flatMap({ Int64($0) }) {
            try await request.pages.store.endFeedAddress(id, of: visitor.session)
        }
        return request.seeOther("\(request.home)feeds")
    }
}
