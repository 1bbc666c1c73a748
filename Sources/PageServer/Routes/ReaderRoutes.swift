import AppBackend
import Formats
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// The reader's page, its form and its stream.
enum ReaderRoutes {
    /// The number of messages on the page.
    static let shown = 50
    /// The largest number of feeds that the page links to; each link takes 130 bytes.
    static let linkedFeeds = 20

    static let events = "/events"

    /// The largest number of categories whose news is on the page of a reader without a choice.
    ///
    /// Each is read separately, and the hub caches this number of categories.
    private static let categoriesAtOnce = 100

    static let routes = [
        PageRoute(.get, "") { try await page($0) },
        PageRoute(.post, "/categories") { try await choose($0) },
        PageRoute(.get, events) { try await events($0) },
        PageRoute(.get, "/session") { request in
            status(try await request.visitor == nil ? .unauthorized : .noContent)
        },
        PageRoute(.get, "/manifest.webmanifest") { manifest($0) },
    ]

    private static func page(_ request: PageRequest) async throws -> Response {
        let visitor = try await request.admitted()
        let session = visitor?.session
        let known = try await request.hub.categories()
        let chosen = session?.choice.categories ?? []
        // A publisher may change the case of a name.
        func isChosen(_ name: String) -> Bool { (try? Tag(name)).map(chosen.contains) ?? false }
        let announced = Set(known.compactMap { try? Tag($0) })
        // A category that is no longer announced stays chosen.
        let names = known + chosen.filter { !announced.contains($0) }.map(\.text)
        let news = try await news(for: visitor, request, known: known)
        var frame = request.frame(for: visitor)
        frame.manifest = "\(request.home)manifest.webmanifest"
        frame.feeds = "\(request.home)feeds"
        let end = session?.position?.sequence
        let filter = NewsFilter(category: request.query["category"], search: request.query["q"])
        // A page without a session and without a filter is rendered once for all readers.
        if filter.isSearch || !filter.isEmpty && session == nil { try request.admitSearch() }
        var page = ReaderPage(
            frame: frame,
            categories: names.map { .init(name: $0, isChosen: isChosen($0)) },
            messages: try await messages(news, for: visitor, newAfter: end, filter, request),
            filter: filter
        )
        page.offer(filtersBy: news.storyVersions)
        let languages = try await request.hub.languages()
        page.offer(Self.languages(of: names, languages), chosen: session?.choice.language)
        page.images = request.showsImages ? "\(request.home)images/" : nil
        page.send = try NotifyRoutes.form(frame, visitor, request)
        // Where only the invited read, these addresses would need a secret.
        if request.hasOpenAccess {
            page.feeds = known.filter { chosen.isEmpty || isChosen($0) }.prefix(linkedFeeds).map { name in
                .init(
                    type: "application/atom+xml",
                    title: name,
                    href: "\(request.home)feeds/\(PercentEncoding.encode(name)).atom"
                )
            }
        }
        var read: StreamPosition?
        if let session {
            // The script does not search.
            page.events = filter.isSearch ? nil : "\(request.home)events"
            page.push = "\(request.home)push"
            page.pushObstacle =
                switch request.hub.browserDelivery {
                case .ready: nil
                case .absent: .unavailable
                case .unusable: .unusable
                }
            page.position = news.position.text
            page.gap = news.gap.map { frame.words.text(.gapSinceVisit, ["reason": "\($0)"]) }
            // News that a selection leaves out is still new at the next visit, and nobody reads the answer to HEAD.
            let isRead = filter.isEmpty && request.request.method == .get
            read = isRead ? news.position : session.position
            await noteVisit(session, read ?? news.position, request)
        }
        // Each visit renews the cookie, which lasts as long as the session.
        let cookie = await request.cookie
        let secret = session == nil ? nil : cookie.secret(in: request.request.headers)
        var response =
            session == nil && filter.isEmpty
            ? request.sharedPage(page) : request.page(page, cookie: secret.map { cookie.setting($0, at: read) })
        // With this header a browser starts another process, which takes longer than the rest of the first paint. The
        // page needs no protection from a window that has opened it.
        response.headers[named: "Cross-Origin-Opener-Policy"] = nil
        return response
    }

    /// The news of the visitor's categories, or of the first ones without a choice; `known` are those of the hub.
    static func news(for visitor: Visitor?, _ request: PageRequest, known: [String]? = nil) async throws -> HubNews {
        var announced = known
        if announced == nil { announced = try await request.hub.categories() }
        let session = visitor?.session
        let choice = (session?.choice ?? ReaderChoice(categories: []))
            .orFirst(categoriesAtOnce, of: (announced ?? []).compactMap { try? Tag($0) })
        return try await request.hub.news(of: choice.categories, language: choice.language, since: session?.position)
    }

    /// The news and the messages that were sent to the reader by name, newest first; with a filter, the news that it
    /// selects.
    private static func messages(
        _ news: HubNews,
        for visitor: Visitor?,
        newAfter end: LogSequence?,
        _ filter: NewsFilter,
        _ request: PageRequest
    ) async throws -> [MessageView] {
        let words = request.words
        let all = Array(news.storyVersions.lazy.filter(filter.selects).prefix(shown))
            .map { version in
                var view = MessageView(version, newAfter: end, in: words)
                if request.showsImages, version.shownImage != nil {
                    view.image = ImageRoutes.address(of: version, request.home)
                }
                return (version.sequence, view)
            }
        guard filter.isEmpty, let user = visitor?.caller?.name,
            let since = try await request.backend?.createdAt(of: user)
        else { return all.map(\.1) }
        let personal = try await request.hub.messages(to: AppBackend.tag(of: user), since: since)
            .filter { $0.sequence <= news.position.sequence }
            .map { ($0.sequence, MessageView($0, newAfter: end, home: request.home, words)) }
        return (all + personal).sorted { $0.0 > $1.0 }.prefix(shown).map(\.1)
    }

    /// Records a visit once a day, with the messages that were read.
    private static func noteVisit(_ session: ReaderSession, _ position: StreamPosition, _ request: PageRequest) async {
        let now = request.now
        guard request.request.method == .get else { return }
        guard !session.hasReturned || now - session.seenAt > ReaderSession.precision else { return }
        try? await request.pages.store.noteVisit(session, position: position, at: now)
    }

    private static func choose(_ request: PageRequest) async throws -> Response {
        let form = try await request.form()
        let visitor = try await request.admitted()
        let categories = try Set(form.all("category")).sorted().map { (name: String) throws -> Tag in
            do throws(ProtocolError) {
                return try Tag(name)
            } catch {
                throw request.refusal(.badRequest, .categoryUnknown, ["reason": error.detail])
            }
        }
        // A user's tag would give access to that user's messages, and an unannounced tag to those of a private group.
        let known = try await request.hub.categories().compactMap { try? Tag($0) }
        let spellings = (known + (visitor?.session.choice.categories ?? [])).map { ($0, $0) }
        let choosable = Dictionary(spellings) { first, _ in first }
        guard
            categories.allSatisfy({
                PublicAudience.isPublic($0, request.pages.reservedTags) && choosable[$0] != nil
            }), categories.count <= request.pages.maximumCategories
        else {
            let count = "\(request.pages.maximumCategories)"
            throw request.refusal(.badRequest, .categoriesRefused, ["count": count])
        }
        let choice = ReaderChoice(
            categories: Set(categories.compactMap { choosable[$0] }).sorted { $0.text < $1.text },
            language: try await language(form, before: visitor?.session.choice.language, request)
        )
        if let visitor {
            try request.admitChange(of: visitor.session)
            return try await request.changing { request, visitor in
                guard var visitor else { throw PageRefusal.ended(request.frame) }
                visitor.session.choice = choice
                try await request.registering(visitor) { [visitor] in
                    try await request.registrar.register(visitor, request.context.client)
                }
                try await request.pages.store.set(choice, of: visitor.session)
                return request.seeOther(request.home)
            }
        }
        let begun = try await EntryRoutes.begin(choice, isInvited: false, request)
        return request.seeOther(request.home, cookie: await request.cookie.setting(begun.secret))
    }

    /// The languages of each of these categories.
    private static func languages(
        of names: [String],
        _ known: [String: [LanguageName]]
    ) -> [String: [LanguageName]] {
        let spoken = names.map { name in (name, (try? Tag(name)).flatMap { known[$0.folded] } ?? []) }
        return Dictionary(spoken.filter { !$0.1.isEmpty }) { first, _ in first }
    }

    /// The language that a form names, which must be on the page: the hub would search its log for any other.
    private static func language(
        _ form: FormFields,
        before: LanguageName?,
        _ request: PageRequest
    ) async throws -> LanguageName? {
        guard let text = form["language"], !text.isEmpty else { return nil }
        let known = try await request.hub.languages().values.joined() + [before].compactMap(\.self)
        guard let language = try? LanguageName(text), let spelled = known.first(where: { $0 == language }) else {
            throw request.refusal(.badRequest, .languageUnknown)
        }
        return spelled
    }

    private static func events(_ request: PageRequest) async throws -> Response {
        switch try await stream(request) {
        case .response(let response): return response
        case .stream(let opening):
            // Nodes do not pass streams on.
            guard let channel = request.context.client.channel else { throw PageRefusal.unavailable }
            var response = await request.pages.service.response(
                to: request.request,
                opening: opening,
                on: channel
            )
            response.headers[.xContentTypeOptions] = "nosniff"
            return response
        }
    }

    /// The hub in the path of a reader's stream, `/-/{hub}/events`; `nil` for other paths.
    static func hub(ofEvents path: some StringProtocol) -> String? {
        let segments = path.split(separator: "/")
        guard segments.count == 3, segments[0] == "-", "/\(segments[2])" == events else { return nil }
        return String(segments[1])
    }

    /// Admits the stream of a reader's page, and registers it at the hub.
    static func stream(_ request: PageRequest) async throws -> StreamAnswer {
        guard let visitor = try await request.visitor else { return .response(status(.unauthorized)) }
        // HEAD opens no stream.
        guard request.request.method == .get else {
            return .response(Response(status: .ok, headers: PageHeaders.common("text/event-stream")))
        }
        try request.admitChange(of: visitor.session)
        let query = request.query["lastEventId"]
        let position = request.request.headers[named: "Last-Event-ID"] ?? query
        // The hub may have been restored, or have dropped the installation.
        let registered = try await request.changing { request, visitor -> ReaderSession? in
            guard let visitor else { return nil }
            let (session, user) = (visitor.session, visitor.caller?.name)
            try await request.registering(visitor) {
                try await request.registrar.registerStream(session, as: user, request.context.client)
            }
            return session
        }
        guard let session = registered else { return .response(status(.unauthorized)) }
        do throws(HubError) {
            return .stream(
                try await request.hub.stream(of: session.installation, channel: session.channel, after: position)
            )
        } catch {
            // The page's script tries again; a hub that is gone or disabled is no fault.
            guard case .refused(let code, _, _, _) = error else { throw error }
            return .response(status(.init(code: code)))
        }
    }

    /// A response for the page's script only.
    static func status(_ status: HTTPResponse.Status) -> Response {
        var headers: HTTPFields = [.cacheControl: "no-store"]
        headers[.xContentTypeOptions] = "nosniff"
        return Response(status: status, headers: headers)
    }

    private static func manifest(_ request: PageRequest) -> Response {
        func icon(_ icon: WebAsset, _ sizes: JSONText, _ purpose: JSONText) -> JSONText {
            ["src": JSONText(icon.path), "sizes": sizes, "type": JSONText(icon.mediaType), "purpose": purpose]
        }
        let appearance = request.appearance
        let (name, home) = (JSONText(appearance.title ?? request.hub.name.text), JSONText(request.home))
        var icons: JSONText = [
            icon(.icon, "any", "any maskable"), icon(.largeIcon, "512x512", "any maskable"),
            icon(.touchIcon, "180x180", "any"),
        ]
        if let logo = appearance.logo {
            icons = [icon(logo.file, JSONText("\(logo.size.width)x\(logo.size.height)"), "any")]
        }
        let body: JSONText = [
            "name": name, "short_name": name, "start_url": home, "scope": home, "display": "standalone",
            "description": JSONText(appearance.description), "background_color": "#f6f6f3",
            "theme_color": JSONText(appearance.accent?.text ?? "#a4161a"),
            "icons": icons,
        ]
        return Response(body.text, "application/manifest+json", cache: "no-cache", forbidsSniffing: true)
    }
}

extension MessageView {
    fileprivate init(_ message: PersonalMessage, newAfter end: LogSequence?, home: String, _ words: PageWords) {
        switch message.content {
        case .open(let storyVersion): self.init(personal: storyVersion, newAfter: end, in: words)
        case .secure(let id):
            self.init(
                secure: id,
                sequence: message.sequence,
                at: message.at,
                link: "\(home)secure/\(id)",
                newAfter: end,
                in: words
            )
        }
    }
}
