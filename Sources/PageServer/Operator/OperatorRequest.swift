import AppBackend
import Formats
import HTTPTypes
import HubProtocol
import HubServer
import Hummingbird
import WebEdge
import WebPages

/// Who uses the operator's view.
enum OperatorActor: Sendable {
    /// The holder of an operator's link, who may do everything.
    case link(OperatorSession)
    /// A signed-in account that may use the desk, and nothing else.
    case account(UserName)

    /// The name in the audit log; a link's never contains a space.
    var name: String {
        switch self {
        case .link(let session): session.shortName
        case .account(let user): "\(Self.accountPrefix)\(user)"
        }
    }

    var isLink: Bool { if case .link = self { true } else { false } }

    fileprivate static let accountPrefix = "user "
}

/// A request to the operator's view.
struct OperatorRequest: Sendable {
    let base: PageRequest
    let actor: OperatorActor

    /// Admits an operator, and to pages of the desk also an account that may use it.
    ///
    /// - Throws: ``PageRefusal`` for any other browser: 401 on this machine, 404 elsewhere.
    init(_ base: PageRequest, isOfDesk: Bool = false) async throws {
        if let session = try await base.operatorSession {
            self.init(base, .link(session))
        } else if isOfDesk, let user = try await base.deskUser {
            self.init(base, .account(user))
        } else {
            throw base.noOperator
        }
    }

    private init(_ base: PageRequest, _ actor: OperatorActor) {
        self.base = base
        self.actor = actor
    }

    /// The same request by the signed-in account, also in a browser that has an operator's link as well, which
    /// names nobody.
    ///
    /// - Throws: ``PageRefusal`` without such an account.
    func byAccount() async throws -> OperatorRequest {
        guard let user = try await base.deskUser else {
            throw refusal(
                .forbidden,
                "An urgent message needs two accounts",
                "The hub's operator has set 'approval: two', and an operator's link names nobody. Sign in with an account "
                    + "that may use the desk ('newswire user rights NAME --desk')."
            )
        }
        return OperatorRequest(base, .account(user))
    }

    /// True for an account, which sees the desk only.
    var isOnDeskOnly: Bool { !actor.isLink }

    /// False for a message to persons or devices, which an account at the desk does not see.
    func mayShow(_ message: MessageReport) -> Bool { !isOnDeskOnly || message.withheld == nil }

    /// False for the tag of a person or device, whose devices an account at the desk does not count.
    func mayCount(_ tag: Tag) -> Bool { !isOnDeskOnly || PublicAudience.isPublic(tag, base.pages.reservedTags) }

    /// Checks that an account at the desk sends to nobody by name: that is another right.
    func check(_ draft: OperatorDraft) throws(ProtocolError) {
        let reserved = base.pages.reservedTags
        let isPublic = draft.parts.allSatisfy { PublicAudience.isPublic(tags: $0.tags, reserved: reserved) }
        guard isOnDeskOnly, !isPublic else { return }
        throw .badRequest("An account at the desk can send to categories and tags, not to persons and devices.")
    }

    var acting: ActingOperator {
        ActingOperator(
            who: actor.name,
            network: base.context.client.network.description,
            hub: base.hub.name,
            at: base.now
        )
    }

    var query: FormFields { base.query }
    var hub: LocalHub { base.hub }
    var root: String { base.operatorRoot }
    var frame: PageFrame {
        guard case .account(let user) = actor else { return base.operatorFrame }
        var frame = base.frame(in: .english)
        frame.user = user.text
        return frame
    }

    func nav(_ place: OperatorNav.Place?) -> OperatorNav {
        OperatorNav(home: base.home, root: root, at: place, isOfDesk: isOnDeskOnly)
    }

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
        PageRefusal(status, frame, heading: heading, text: text)
    }

    /// Runs an action and records it in the audit log, with its outcome.
    func perform<Value: Sendable>(
        _ action: String,
        _ detail: String,
        outcome: (Value) -> String,
        _ work: () async throws -> Value
    ) async throws -> Value {
        let store = base.pages.store
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

    /// The signed-in user, if that account may use the desk; `nil` on a connection that is not private.
    var deskUser: UserName? {
        get async throws {
            guard await context.client.isPrivate, let caller = try await visitor?.caller, caller.mayUseDesk else {
                return nil
            }
            return caller.name
        }
    }

    /// True if the account that has this name in the audit log may use the desk now.
    func mayUseDesk(_ who: String) async throws -> Bool {
        guard who.hasPrefix(OperatorActor.accountPrefix), let backend = try await backend,
            let name = UserName(String(who.dropFirst(OperatorActor.accountPrefix.count)))
        else { return false }
        return try await backend.mayUseDesk(name)
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
