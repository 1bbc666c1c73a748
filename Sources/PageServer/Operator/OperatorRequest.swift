import AppBackend
import Formats
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// A request of an operator to the operator's view.
struct OperatorRequest: Sendable {
    let base: PageRequest
    let session: OperatorSession

    /// - Throws: ``PageRefusal`` for a browser without an operator's session: 401 on this machine, 404 elsewhere.
    init(_ base: PageRequest) async throws {
        guard let session = try await base.operatorSession else { throw base.noOperator }
        self.base = base
        self.session = session
    }

    var query: FormFields { base.query }
    var hub: LocalHub { base.hub }
    var root: String { base.operatorRoot }
    var frame: PageFrame { base.operatorFrame }

    func nav(_ place: OperatorNav.Place?) -> OperatorNav { OperatorNav(root: root, at: place) }

    func page(_ place: OperatorNav.Place?, _ heading: String) -> OperatorPage {
        OperatorPage(nav(place), frame: frame, heading: heading)
    }

    /// The page with these sections.
    func answer(
        _ place: OperatorNav.Place?,
        _ heading: String,
        _ sections: [OperatorSection],
        more: OperatorLink? = nil
    ) -> Response {
        var page = page(place, heading)
        page.sections = sections
        page.more = more
        return base.page(page)
    }

    func cell(_ id: InstallationID) -> OperatorTable.Cell { cell(id.text, in: "devices") }
    func cell(_ id: RegistrationID) -> OperatorTable.Cell { cell(id.text, in: "registrations") }

    private func cell(_ id: String, in list: String) -> OperatorTable.Cell {
        OperatorTable.Cell(id, link: "\(root)\(list)/\(PercentEncoding.encode(id))")
    }

    /// The link to the messages, each with the reason why a device got it or did not.
    func explanation(of device: String) -> OperatorLink {
        OperatorLink("Which messages it got, and why", href: "\(root)messages?device=\(PercentEncoding.encode(device))")
    }

    /// A parameter of the path.
    func parameter(_ name: String) -> String {
        let raw = base.context.parameters.get(name) ?? ""
        return PercentEncoding.decode(raw) ?? raw
    }

    /// The part of a list that begins where the query says, and where the next one begins.
    func part<Item>(of items: [Item], _ count: Int) -> (items: ArraySlice<Item>, next: Int?) {
        let first = min(max(0, query["from"].flatMap { Int($0) } ?? 0), items.count)
        let next = first + count
        return (items[first...].prefix(count), next < items.count ? next : nil)
    }

    func refusal(_ status: HTTPResponse.Status, _ heading: String, _ text: String) -> PageRefusal {
        base.refusal(toOperator: status, heading, text)
    }

    /// Runs an action and records it in the audit log, with its outcome.
    func perform<Value: Sendable>(
        _ action: String,
        _ detail: String,
        outcome: (Value) -> String,
        _ work: () async throws -> Value
    ) async throws -> Value {
        let store = base.pages.store
        let network = base.context.client.network.description
        let acting = ActingOperator(session: session, network: network, hub: base.hub.name, at: base.now)
        let number = try await store.note(action, detail, by: acting)
        do {
            let value = try await work()
            // The action is done: do not fail, because a retry could repeat it.
            try? await store.finish(number, outcome: outcome(value))
            return value
        } catch {
            try? await store.finish(number, outcome: "failed: \(error)")
            throw error
        }
    }
}

extension PageRequest {
    var operatorRoot: String { "\(home)admin/" }

    /// The frame whose brand links to the overview.
    var operatorFrame: PageFrame { PageFrame(name: hub.name.text, home: operatorRoot) }

    var operatorCookie: SessionCookie { SessionCookie(operatorOf: hub.name) }

    /// The operator's session; also `nil` on a connection that is not private.
    var operatorSession: OperatorSession? {
        get async throws {
            guard await context.client.isPrivate,
                let secret = secret(of: operatorCookie)
            else { return nil }
            return try await pages.store.operatorSession(secret, hub: hub.name, at: now)
        }
    }

    func refusal(toOperator status: HTTPResponse.Status, _ heading: String, _ text: String) -> PageRefusal {
        PageRefusal(status, operatorFrame, heading: heading, text: text)
    }

    /// The refusal without a session, which explains the sign-in on this machine only.
    ///
    /// Elsewhere it looks like the refusal of an unknown address.
    var noOperator: PageRefusal {
        guard PageAccessPolicy.isOfThisMachine(request, peer: context.client.peer) else { return .notFound }
        return refusal(
            toOperator: .unauthorized,
            "This page is for operators",
            "Run 'newswire hub invite --operator' on this machine, and open the link that it prints in this browser."
        )
    }
}
