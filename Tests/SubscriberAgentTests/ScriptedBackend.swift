import Formats
import Foundation
import HubProtocol
import HubTestServer
import ServerSentEvents
import Synchronization

@testable import SubscriberAgent

/// As much of an app backend as an agent sees, in front of a scripted hub.
final class ScriptedBackend: Sendable {
    static let password = "correct horse"

    struct Put: Sendable, Equatable {
        let user: String
        let tags: [String]
    }

    struct State: Sendable {
        /// Answers to come before all others.
        var replies: [ScriptedReply] = []
        var isDown = false
        /// Users by token.
        var tokens: [String: String] = [:]
        var issued = 0
        var puts: [Put] = []
        var deletes: [String] = []
        var payloads: [Int: (user: String, text: String)] = [:]
        var fetches = 0
        var devices: [String] = []
    }

    let server: ScriptedHTTPServer
    private let box: Box

    private final class Box: Sendable {
        let state = Mutex(State())
        let changes = Signal()
    }

    init(_ hub: ScriptedHub) throws {
        let box = Box()
        self.box = box
        server = try ScriptedHTTPServer { request in
            defer { box.changes.notify() }
            return box.state.withLock { Self.answer(request, &$0, hub) }
        }
    }

    var state: State { box.state.withLock { $0 } }

    var address: BackendAddress {
        get throws { try BackendAddress(parsing: server.baseURL) }
    }

    func set(_ change: @Sendable (inout State) -> Void) { box.state.withLock { change(&$0) } }

    func wait(until condition: @Sendable (State) -> Bool) async {
        await box.changes.wait { condition(box.state.withLock { $0 }) }
    }

    static func error(_ status: Int, _ reason: String, headers: [(String, String)] = []) -> ScriptedReply {
        .status(status, headers: headers, body: #"{"error":"\#(reason)"}"#)
    }

    private static func answer(
        _ request: RecordedRequest,
        _ state: inout State,
        _ hub: ScriptedHub
    ) -> ScriptedReply {
        if state.isDown { return error(503, "The notification hub cannot be reached now.") }
        if !state.replies.isEmpty { return state.replies.removeFirst() }
        if request.path == "/api/login" { return logIn(request, &state) }
        let token = request.header("Authorization").map { String($0.dropFirst("Bearer ".count)) } ?? ""
        guard let user = state.tokens[token] else { return error(401, "The token is not valid.") }
        let last = String(request.path.split(separator: "/").last ?? "")
        switch (request.method, request.path) {
        case ("POST", "/api/logout"):
            state.tokens[token] = nil
            return .status(200)
        case ("PUT", _) where request.path.hasPrefix("/api/installations/"):
            guard let id = try? InstallationID(last),
                let installation = try? Installation(json: request.body, id: id, as: .request)
            else { return error(400, "cannot be read") }
            state.puts.append(Put(user: user, tags: installation.tags.map(\.text)))
            hub.set { $0.isInstalled = true }
            return .status(200)
        case ("DELETE", _) where request.path.hasPrefix("/api/installations/"):
            state.deletes.append(user)
            return .status(200)
        case ("GET", _) where request.path.hasPrefix("/api/notifications/"):
            state.fetches += 1
            guard let id = Int(last), let payload = state.payloads[id], payload.user == user else {
                return error(404, "You have no notification with this id.")
            }
            return .status(
                200,
                body: #"{"Id":\#(id),"Payload":\#(JSONText(payload.text).text),"Read":false}"#
            )
        default: return error(404, "There is nothing at this address.")
        }
    }

    private static func logIn(_ request: RecordedRequest, _ state: inout State) -> ScriptedReply {
        let body = try? JSONDecoder().decode([String: String].self, from: Data(request.body))
        guard let body, let user = body["user"], body["password"] == password else {
            return error(401, "The name or the password is wrong.")
        }
        state.issued += 1
        state.devices.append(body["device"] ?? "")
        let token = "token-\(state.issued)"
        state.tokens[token] = user.lowercased()
        return .status(200, body: #"{"token":"\#(token)","expires":"2030-01-01T00:00:00Z"}"#)
    }
}

extension ScriptedStream {
    /// A secure notification as the hub sends it.
    func secureMessage(_ number: Int, secureID: String, id: String?) {
        let data = #"{"id":"m\#(number)","template":"","body":{"secureId":"\#(secureID)"}}"#
        send(ServerSentEvent(id: id, data: data))
    }
}
