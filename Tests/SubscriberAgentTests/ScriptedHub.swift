import Foundation
import GRDB
import HostSystem
import HubProtocol
import HubTestServer
import Logging
import OutboundHTTP
import ServerSentEvents
import Synchronization

@testable import SubscriberAgent

/// As much of a hub as an agent sees, doing what the test says.
final class ScriptedHub: Sendable {
    struct State: Sendable {
        var categories: [String]? = CategoryList.standard
        /// Answers to come before the ordinary ones, by route.
        var putReplies: [ScriptedReply] = []
        var streamReplies: [ScriptedReply] = []
        var deleteReplies: [ScriptedReply] = []
        var categoryReplies: [ScriptedReply] = []
        var puts: [Installation] = []
        var deletes = 0
        var cursors: [String?] = []
        var isInstalled = false
    }

    static let key = "h+3Qd/9kT0YbZ1x7Vn5rLw2mKc8sPqEoJ6uGaFyNiXM="

    let server: ScriptedHTTPServer
    /// One for each stream that is accepted, in order.
    let streams: [ScriptedStream]
    private let box: Box

    private final class Box: Sendable {
        let state = Mutex(State())
        let changes = Signal()
    }

    /// Returns when the requests so far have made a condition true.
    func wait(until condition: @Sendable (State) -> Bool) async {
        await box.changes.wait { condition(box.state.withLock { $0 }) }
    }

    init(streams count: Int = 6) throws {
        let box = Box()
        let streams = (0..<count).map { _ in ScriptedStream() }
        self.box = box
        self.streams = streams
        server = try ScriptedHTTPServer { request in
            defer { box.changes.notify() }
            return box.state.withLock { Self.answer(request, &$0, streams) }
        }
    }

    func set(_ change: @Sendable (inout State) -> Void) { box.state.withLock { change(&$0) } }

    var state: State { box.state.withLock { $0 } }

    var connection: ConnectionString {
        get throws {
            try ConnectionString(endpoint: "\(server.baseURL)/", keyName: "Listen", key: Self.key)
        }
    }

    static func error(_ status: Int, _ detail: String, headers: [(String, String)] = []) -> ScriptedReply {
        .status(status, headers: headers, body: "<Error><Code>\(status)</Code><Detail>\(detail)</Detail></Error>")
    }

    private static func answer(
        _ request: RecordedRequest,
        _ state: inout State,
        _ streams: [ScriptedStream]
    ) -> ScriptedReply {
        func next(_ replies: inout [ScriptedReply]) -> ScriptedReply? {
            replies.isEmpty ? nil : replies.removeFirst()
        }
        switch (request.method, request.path.split(separator: "/").last.map(String.init)) {
        case ("GET", "categories"):
            if let reply = next(&state.categoryReplies) { return reply }
            guard let list = state.categories else { return error(404, "no such route") }
            let body = (try? JSONEncoder().encode(CategoryList(categories: list))) ?? Data()
            return .status(200, headers: [("Content-Type", "application/json")], body: Array(body))
        case ("GET", "stream"):
            if let reply = next(&state.streamReplies) { return reply }
            guard state.isInstalled, request.header("Newswire-Push-Channel") != nil else {
                return error(404, "Installation not found")
            }
            let number = state.cursors.count
            state.cursors.append(request.header("Last-Event-ID"))
            guard number < streams.count else { return .never }
            return .stream(headers: [("Content-Type", "text/event-stream")], streams[number])
        case ("PUT", let id?):
            if let reply = next(&state.putReplies) { return reply }
            guard let id = try? InstallationID(id),
                let installation = try? Installation(json: request.body, id: id, as: .request)
            else { return error(400, "cannot be read") }
            state.puts.append(installation)
            state.isInstalled = true
            return .status(200)
        case ("DELETE", _):
            if let reply = next(&state.deleteReplies) { return reply }
            state.deletes += 1
            state.isInstalled = false
            return .status(204)
        default:
            return error(404, "no such route")
        }
    }
}

extension ScriptedStream {
    func send(_ event: ServerSentEvent) { send(event.encoded()) }

    /// A message as the hub sends it; without an id where it is not the last of its sequence.
    func message(_ number: Int, id: String?, title: String? = nil) {
        let title = title ?? "title \(number)"
        let body = #"{"title":"\#(title)","message":"message \#(number)","link":"","category":"World"}"#
        send(ServerSentEvent(id: id, data: #"{"id":"m\#(number)","template":"newswire","body":\#(body)}"#))
    }

    func heartbeat(_ id: String) { send(ServerSentEvent(id: id)) }

    func gap(after: String?, resumesAt: Int64, id: String?) {
        let after = after.map { "\"\($0)\"" } ?? "null"
        send(
            ServerSentEvent(
                id: id,
                event: StreamEventName.gap,
                data: #"{"after":\#(after),"resumesAt":\#(resumesAt),"reason":"the log was too short"}"#
            )
        )
    }
}

/// One profile in a scratch directory, with a scripted hub and a fake world.
final class Stage: Sendable {
    let scratch: Scratch
    let hub: ScriptedHub
    let world = FakeWorld()
    let output = FakeOutput()
    let http = OutboundClient(userAgent: "newswire-test")

    init() throws {
        scratch = try Scratch()
        hub = try ScriptedHub()
    }

    func agent(
        bounds: AgentStore.Bounds = .init(),
        hub other: ScriptedHub? = nil,
        trusting authorityFile: String? = nil,
        variables: [String: String] = ProcessInfo.processInfo.environment
    ) throws -> SubscriberAgent {
        let directory = try scratch.stateDirectory()
        var configuration = AgentConfiguration(directory: directory, connection: try (other ?? hub).connection)
        configuration.variables = variables
        configuration.authorityFile = authorityFile
        return SubscriberAgent(
            configuration,
            environment: world.environment,
            http: http,
            logger: Logger(label: "test"),
            store: try AgentStore(path: directory.file(SubscriberAgent.databaseName), bounds: bounds)
        )
    }

    /// Subscribes in a task of its own.
    func start(
        _ agent: SubscriberAgent,
        _ categories: [String]? = ["World"],
        handler: InboxHandler = .json,
        notifying: Bool = false,
        limits: HandlerLimits = HandlerLimits()
    ) throws -> Task<SubscribeEnding, any Error> {
        let choice = try categories.map { try CategoryChoice($0) }
        let output = output
        return Task {
            try await agent.subscribe(
                choosing: choice,
                handler: handler,
                notifying: notifying,
                output: output,
                limits: limits
            )
        }
    }

    func stop(_ task: Task<SubscribeEnding, any Error>) async throws {
        task.cancel()
        let ending = try await task.value
        guard ending == .stopped else { throw AgentError(.failed, "ended as \(ending)") }
    }

    /// The ids of the output's JSON lines.
    var delivered: [String] {
        output.lines.compactMap { line in
            (try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])?["id"] as? String
        }
    }
}

extension AgentStore {
    /// What the stream of the present subscription stores.
    @discardableResult
    func receive(_ arrivals: [Arrival], cursor: String?, at now: Timestamp) async throws -> [Arrival] {
        try await receive(arrivals, cursor: cursor, of: try await record().generation, at: now)
    }

    /// Returns when so many rows of the inbox satisfy a condition in SQL; SQLite reports each change.
    func wait(forRows count: Int, where condition: String = "true") async throws {
        let sql = "SELECT count(*) FROM inbox WHERE \(condition)"
        let counts = ValueObservation.tracking { try Int.fetchOne($0, sql: sql) ?? 0 }.values(in: pool)
        for try await number in counts where number >= count { break }
    }
}

extension SubscriberAgent {
    /// What `subscribe --categories` does beside a process that listens; without one, the lock is held as it would.
    func chooseCategories(
        _ choice: CategoryChoice,
        template: TemplateChoice? = nil
    ) async throws -> ChoiceOutcome {
        let lock = try FileLock.acquire(configuration.directory.file(Self.lockName))
        defer { lock?.close() }
        let ending = try await subscribe(
            choosing: choice,
            template: template,
            handler: .json,
            output: FakeOutput()
        )
        guard case .choiceStored(let outcome) = ending else { throw AgentError(.failed, "ended as \(ending)") }
        return outcome
    }
}
