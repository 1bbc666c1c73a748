import Crypto
import Foundation
import HubTestServer
import Synchronization
import WebEdge

@testable import FeedLists
@testable import FeedPublisher

/// A feed's hub that does as a test says: it takes requests, and asks and delivers when told to.
final class FakePushHub: Sendable {
    private final class Shared: Sendable {
        let answer = Mutex<@Sendable (FormFields) -> ScriptedReply>({ _ in .status(202) })
        let requests = Mutex<[FormFields]>([])
    }

    private let shared = Shared()
    private let server: ScriptedHTTPServer

    init() throws {
        let shared = shared
        server = try ScriptedHTTPServer { request in
            guard request.path == "/hub" else { return .redirect(request.path == "/307" ? 307 : 308, to: "/hub") }
            guard request.method == "POST" else { return .status(405) }
            let form = FormFields(request.text)
            shared.requests.withLock { $0.append(form) }
            return shared.answer.withLock { $0 }(form)
        }
    }

    func url(_ path: String = "/hub") -> String { server.url(path) }

    /// What was asked, in order.
    var requests: [FormFields] { shared.requests.withLock { $0 } }

    func answer(_ answer: @escaping @Sendable (FormFields) -> ScriptedReply) {
        shared.answer.withLock { $0 = answer }
    }

    /// The question whether a request came from its callback.
    static func question(_ request: FormFields, lease: Int = 100_000, challenge: String = "c1") -> String {
        let form = FormFields([
            (name: "hub.mode", value: request["hub.mode"] ?? ""),
            (name: "hub.topic", value: request["hub.topic"] ?? ""),
            (name: "hub.challenge", value: challenge), (name: "hub.lease_seconds", value: "\(lease)"),
        ])
        return form.text
    }

    static func path(_ request: FormFields) -> String {
        String(request["hub.callback"]?.split(separator: "/").last ?? "")
    }

    /// The header of a delivery to the subscription that a request asked for.
    static func signature(_ body: String, for request: FormFields) -> String {
        let key = SymmetricKey(data: Array((request["hub.secret"] ?? "").utf8))
        let code = HMAC<SHA256>.authenticationCode(for: Array(body.utf8), using: key)
        return "sha256=" + code.map { String(format: "%02x", $0) }.joined()
    }
}

/// A newsroom whose publisher stays, with one feed that is pushed; the test moves it step by step.
final class PushedRoom: Sendable {
    static let base = "https://us.example/websub/"

    let room: Newsroom
    let pushHub: FakePushHub
    let lists: FeedLists
    let store: PublisherStore
    let watch: PublishWatch

    init(
        existing: [FakeSite.Item] = [FakeSite.Item("old")],
        isHeaded: Bool = false,
        every: String = "5m",
        rules: String = "",
        hubPath: String = "/hub"
    ) throws {
        room = try Newsroom()
        pushHub = try FakePushHub()
        let feed = "  - {url: \"\(room.site.url("/w"))\", local: true}\n"
        let text = "category: World\nevery: \(every)\n\(rules)\nfeeds:\n\(feed)"
        lists = try FeedLists.parse([(file: "feeds/w.yaml", text: text)])
        store = try room.store()
        watch = room.watch(lists, store: store)
        self.hubURL = pushHub.url(hubPath)
        self.isHeaded = isHeaded
        publish(existing)
    }

    private let hubURL: String
    private let isHeaded: Bool

    private let path = Mutex("/topic")

    /// Under which the feed names itself.
    var topicPath: String {
        get { path.withLock { $0 } }
        set { path.withLock { $0 = newValue } }
    }

    var topic: String { room.site.url(topicPath) }

    /// What the feed's server has, newest first.
    func publish(_ items: [FakeSite.Item]) {
        let links = "<atom:link xmlns:atom='http://www.w3.org/2005/Atom'"
        let named = "\(links) rel='hub' href='\(hubURL)'/>\(links) rel='self' href='\(topic)'/>"
        let body = FakeSite.rss(items)
        room.site.set(
            "/w",
            FakeSite.Document(
                body: isHeaded ? body : body.replacing("<title>Example", with: named + "<title>Example"),
                headers: isHeaded ? [("Link", "<\(hubURL)>; rel=\"hub\", <\(topic)>; rel=self")] : []
            )
        )
    }

    /// The subscription as it stands.
    var subscription: WebSubSubscription? {
        get throws {
            guard let feed = try store.feeds()[room.site.url("/w")] else { return nil }
            return try store.subscription(ofFeed: feed.id)
        }
    }

    var record: FeedRecord? { get throws { try store.feeds()[room.site.url("/w")] } }

    /// Polls what is due, asks hubs what is to be asked, and sends.
    @discardableResult
    func step() async throws -> PublishReport { try await watch.step() }

    /// To the point where the hub has confirmed.
    @discardableResult
    func subscribe(lease: Int = 100_000) async throws -> FormFields {
        try await step()
        guard let request = pushHub.requests.last else { throw Missing() }
        let answer = watch.answer(FakePushHub.path(request), query: FakePushHub.question(request, lease: lease))
        guard answer == WebSubAnswer(status: 200, body: "c1") else { throw Missing() }
        return request
    }

    /// Delivers, and sends what comes of it.
    func deliver(_ body: String, _ request: FormFields, fields: [String: String]? = nil) async throws -> WebSubAnswer {
        let fields = fields ?? ["X-Hub-Signature": FakePushHub.signature(body, for: request)]
        let delivery = WebSubDelivery(path: FakePushHub.path(request)) { fields[$0] }
        let answer = await watch.take(delivery) { Array(body.utf8) }
        try await step()
        return answer
    }

    struct Missing: Error {}
}
