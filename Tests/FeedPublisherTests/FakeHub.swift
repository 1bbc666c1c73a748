import Foundation
import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import Synchronization

/// A hub that keeps what it is sent, once for each idempotency key, as ours does.
final class FakeHub: Sendable {
    struct Message: Sendable, Equatable {
        let key: String
        let tags: String
        let body: [UInt8]

        private var properties: MessageProperties? { try? MessageProperties(json: body) }

        var title: String { properties?["title"] ?? "" }

        var text: String { properties?["messageParam"] ?? "" }
    }

    private struct State {
        var messages: [Message] = []
        var attempts: [Message] = []
        var conflicts = 0
        var categories: [[String]] = []
        var reports: [PublisherReport] = []
        var reportAttempts = 0
        /// What operators ask of the publisher; `nil` for a hub without this route.
        var requests: [PublisherRequest]? = []
        var requestReads = 0
        var hangsUpOnRequests = false
        /// With which reports are answered; 0 hangs up.
        var reportStatus = 200
        var answer: @Sendable (Message) -> Int = { _ in 201 }
        var headers: [(String, String)] = []
        /// The message is taken, and the answer lost.
        var losesAnswers = false
        var hasOwnRoutes = true
    }

    private final class Shared: Sendable {
        let state = Mutex(State())
    }

    private let shared = Shared()
    private let server: ScriptedHTTPServer
    private let http = OutboundClient(userAgent: "newswire-tests")
    let client: HubClient

    init() throws {
        let shared = shared
        server = try ScriptedHTTPServer { request in
            shared.state.withLock { Self.answer(request, &$0) }
        }
        let text =
            "Endpoint=\(server.baseURL)/;SharedAccessKeyName=Publisher;SharedAccessKey=\(String(repeating: "A", count: 43))="
        client = try HubClient(connection: ConnectionString(parsing: text), hub: HubName("news"), http: http)
    }

    /// What was taken, in order.
    var messages: [Message] { shared.state.withLock { $0.messages } }

    var titles: [String] { messages.map(\.title) }

    /// What was sent, whatever became of it.
    var attempts: [Message] { shared.state.withLock { $0.attempts } }

    /// Keys that came again with other content.
    var conflicts: Int { shared.state.withLock { $0.conflicts } }

    var categories: [[String]] { shared.state.withLock { $0.categories } }

    /// What was told of the publisher's health.
    var reports: [PublisherReport] { shared.state.withLock { $0.reports } }

    /// The same, whatever became of it.
    var reportAttempts: Int { shared.state.withLock { $0.reportAttempts } }

    /// The number of times that requests of operators were asked for.
    var requestReads: Int { shared.state.withLock { $0.requestReads } }

    /// What the publisher has reported about requests, `nil` for those that wait.
    var outcomes: [String?] { shared.state.withLock { $0.requests?.map(\.outcome) ?? [] } }

    func ask(_ action: PublisherRequest.Action, _ url: String, category: String? = nil) {
        ask(action: action.rawValue, url, category: category)
    }

    func ask(action: String, _ url: String, category: String? = nil) {
        shared.state.withLock { state in
            let number = Int64(state.requests?.count ?? 0) + 1
            state.requests?.append(
                PublisherRequest(
                    number: number,
                    askedAt: "2030-01-01T00:00:00Z",
                    action: action,
                    url: url,
                    category: category,
                    outcome: nil
                )
            )
        }
    }

    func hangUpOnRequests(_ hangsUp: Bool) { shared.state.withLock { $0.hangsUpOnRequests = hangsUp } }

    func dropRequests() { shared.state.withLock { $0.requests = nil } }

    func answerReports(_ status: Int) { shared.state.withLock { $0.reportStatus = status } }

    /// The status with which messages are answered; 0 hangs up.
    func answer(_ headers: [(String, String)] = [], _ answer: @escaping @Sendable (Message) -> Int) {
        shared.state.withLock {
            $0.answer = answer
            $0.headers = headers
        }
    }

    func loseAnswers(_ loses: Bool) { shared.state.withLock { $0.losesAnswers = loses } }

    func dropOwnRoutes() { shared.state.withLock { $0.hasOwnRoutes = false } }

    private static func answer(_ request: RecordedRequest, _ state: inout State) -> ScriptedReply {
        switch (request.method, request.path) {
        case ("POST", "/news/messages/"):
            let message = Message(
                key: request.header("Idempotency-Key") ?? "",
                tags: request.header("ServiceBusNotification-Tags") ?? "",
                body: request.body
            )
            state.attempts.append(message)
            let status = state.answer(message)
            guard status != 0 else { return .hangUp }
            guard status == 201 else { return .status(status, headers: state.headers) }
            if let earlier = state.messages.first(where: { $0.key == message.key }) {
                if earlier != message { state.conflicts += 1 }
            } else {
                state.messages.append(message)
            }
            guard !state.losesAnswers else { return .hangUp }
            return .status(
                201,
                headers: [("Location", "http://127.0.0.1/news/messages/m\(state.messages.count)?api-version=1")]
            )
        case ("PUT", _) where request.path.hasPrefix("/news/categories/") && state.hasOwnRoutes:
            let list = try? JSONDecoder().decode(CategoryList.self, from: Data(request.body))
            state.categories.append(list?.categories ?? [])
            return .status(200)
        case ("PUT", "/news/publishers/newswire"):
            state.reportAttempts += 1
            guard state.reportStatus == 200 else {
                return state.reportStatus == 0 ? .hangUp : .status(state.reportStatus)
            }
            if let report = try? PublisherReport(json: request.body) {
                state.reports.append(report)
                for handled in report.handled ?? [] {
                    let place = state.requests?.firstIndex { $0.number == handled.number && $0.outcome == nil }
                    if let place { state.requests?[place].outcome = handled.outcome }
                }
            }
            return .status(200)
        case ("GET", "/news/publishers/newswire/requests"):
            state.requestReads += 1
            if state.hangsUpOnRequests { return .hangUp }
            guard let requests = state.requests,
                let body = try? JSONEncoder.sorted.text(PublisherRequests(requests: requests))
            else { return .status(404) }
            return .status(200, headers: [("Content-Type", "application/json")], body: body)
        case ("POST", "/news/recipients") where state.hasOwnRoutes:
            return .status(
                200,
                headers: [("Content-Type", "application/json")],
                body: #"{"total":3,"platforms":{"stream":3}}"#
            )
        default:
            return .status(404)
        }
    }
}
