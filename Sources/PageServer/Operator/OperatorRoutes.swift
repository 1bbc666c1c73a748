import AppBackend
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// The operator's view.
enum OperatorRoutes {
    static let words = ReportWords.page

    static let all =
        entry + [
            page(.get, "") { try await overview($0) },
            page(.get, "/messages") { try await messages($0) },
            page(.get, "/messages/:id") { try await message($0) },
            page(.get, "/devices") { try await devices($0) },
            page(.get, "/devices/:id") { try await device($0) },
            page(.get, "/registrations/:id") { try await registration($0) },
            page(.get, "/categories") { try await categories($0) },
            page(.get, "/publishers") { try await publishers($0) },
            page(.get, "/publishers/:name") { try await publisher($0) },
            page(.get, "/publishers/:name/feed") { try await feed($0) },
            page(.post, "/publishers/:name/requests") { try await ask($0) },
            page(.get, "/alarms") { try await alarms($0) },
            page(.post, "/alarms/:id/silence") { try await silence($0) },
            page(.post, "/alarms/:id/unsilence") { try await unsilence($0) },
            page(.get, "/send", isOfDesk: true) { try await sendForm($0) },
            page(.post, "/send", isOfDesk: true) { try await preview($0) },
            page(.post, "/send/confirmed", isOfDesk: true) { try await send($0) },
            page(.post, "/send/draft", isOfDesk: true) { try await saveDraft($0) },
            page(.get, "/drafts", isOfDesk: true) { try await drafts($0) },
            page(.get, "/drafts/:id", isOfDesk: true) { try await draft($0) },
            page(.post, "/drafts/:id/approve", isOfDesk: true) { try await approve($0) },
            page(.post, "/drafts/:id/delete", isOfDesk: true) { try await deleteDraft($0) },
            page(.get, "/scheduled", isOfDesk: true) { try await scheduled($0) },
            page(.post, "/scheduled/:id/cancel", isOfDesk: true) { try await cancel($0) },
            page(.get, "/audit") { try await audit($0) },
            page(.post, "/leave") { request in
                _ = try await request.base.form()
                if case .link(let session) = request.actor { try await request.base.pages.store.end(session) }
                return request.base.seeOther(request.base.home, cookie: request.base.operatorCookie.clearing)
            },
        ]

    /// A route for operators, and for accounts that may use the desk if it is part of that; refusals of the hub become
    /// pages.
    private static func page(
        _ method: HTTPRequest.Method,
        _ path: String,
        isOfDesk: Bool = false,
        handle: @escaping @Sendable (OperatorRequest) async throws -> Response
    ) -> PageRoute {
        PageRoute(method, "/admin\(path)") { base in
            let request = try await OperatorRequest(base, isOfDesk: isOfDesk)
            do {
                return try await handle(request)
            } catch HubError.refused(let status, _, let detail, _) where (400..<500).contains(status) {
                throw request.refusal(.init(code: status), "The hub refuses this", detail)
            }
        }
    }

    // MARK: Signing in

    private static let entry = [
        // A form, because a preview of the link must not use up the link.
        PageRoute(.get, "/admin/enter") { request in
            guard let code = request.query["code"], SessionSecret(code) != nil else {
                throw request.noOperator
            }
            return request.page(EntryPage(frame: request.frame(in: .english), code: code, isOfOperator: true))
        },
        PageRoute(.post, "/admin/enter") { try await enter($0) },
    ]

    private static func enter(_ request: PageRequest) async throws -> Response {
        // Browsers keep the cookie only on private connections; on others the link must not be used up.
        guard await request.context.client.isPrivate else {
            throw request.refusal(
                toOperator: .forbidden,
                "Use HTTPS",
                "The operator's view is served over HTTPS, and over plain HTTP on this machine only."
            )
        }
        let form = try await request.form()
        let secret = SessionSecret.random()
        let (store, name) = (request.pages.store, request.hub.name)
        guard
            try await store.beginOperatorSession(
                with: form["code"] ?? "",
                secret,
                from: request.context.client.network.description,
                hub: name,
                at: request.now
            ) != nil
        else {
            if try await request.operatorSession != nil { return request.seeOther(request.operatorRoot) }
            throw request.refusal(
                toOperator: .forbidden,
                "This link cannot be used",
                "It has been used, or has expired. 'newswire hub invite --operator' prints another one."
            )
        }
        return request.seeOther(
            request.operatorRoot,
            cookie: request.operatorCookie.setting(secret, for: OperatorSession.lifetime)
        )
    }
}

// MARK: - Audit log

extension OperatorRoutes {
    private static let shownActions = 50

    static func audit(_ request: OperatorRequest) async throws -> Response {
        let before = request.query["before"].flatMap { Int64($0) }
        let actions = try await request.base.pages.store.actions(
            of: request.hub.name,
            before: before,
            limit: shownActions
        )
        let rows = actions.map { action -> [OperatorTable.Cell] in
            [
                .init(words.time(action.at)), .init(action.who), .init(action.action),
                .init(action.detail), .init(action.outcome), .init(action.network),
            ]
        }
        let table = OperatorTable(
            "Actions",
            ["Time", "Session", "Action", "Detail", "Outcome", "Network"],
            rows,
            empty: "No action has been recorded."
        )
        let section = OperatorSection("Actions of operators on these pages", table: table)
        let last = actions.count == shownActions ? actions.last : nil
        let more = last.map { OperatorLink("Earlier", href: "\(request.root)audit?before=\($0.id)") }
        return request.answer(.audit, "Audit", [section], more: more)
    }
}
