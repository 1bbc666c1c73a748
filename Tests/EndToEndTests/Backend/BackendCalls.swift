import Formats
import Foundation
import HubClient
import HubProtocol
import OutboundHTTP
import Testing

/// Requests to an app backend, and to the hub behind it.
struct BackendCalls: Sendable {
    struct Answer: Sendable {
        let status: Int
        let text: String

        /// A JSON string without its quotes.
        var id: String { String(text.dropFirst().dropLast()) }
    }

    let http: OutboundClient
    let origin: String
    let hubOrigin: String
    /// Of the hub, with Manage; the hub writes it at its first start.
    let connectionFile: String

    private var connection: ConnectionString {
        get throws {
            let text = try String(contentsOfFile: connectionFile, encoding: .utf8)
            return try ConnectionString(parsing: text.trimmingCharacters(in: .whitespacesAndNewlines))
        }
    }

    /// Sends a request to the backend; `credentials` is a whole `Authorization` header.
    func send(
        _ method: String,
        _ target: String,
        as credentials: String?,
        headers: [(String, String)] = [],
        _ body: String? = nil
    ) async throws -> Answer {
        let authorization = credentials.map { [("Authorization", $0)] } ?? []
        return try await send(method, "\(origin)\(target)", authorization + headers, body)
    }

    /// Sends a request to the hub, with Manage.
    func sendToHub(
        _ method: String,
        _ path: String,
        headers: [(String, String)] = [],
        _ body: String? = nil
    ) async throws -> Answer {
        let connection = try self.connection
        let token = SharedAccessToken.sign(
            resource: "\(hubOrigin)/news",
            keyName: connection.keyName,
            key: connection.key,
            expiresAt: Timestamp(Date()).seconds + 600
        )
        return try await send(
            method,
            "\(hubOrigin)\(path)",
            [("Authorization", token)] + headers,
            body
        )
    }

    private func send(
        _ method: String,
        _ url: String,
        _ headers: [(String, String)],
        _ body: String?
    ) async throws -> Answer {
        let request = OutboundRequest(
            method: method,
            url: url,
            headers: headers + (body == nil ? [] : [("Content-Type", "application/json")]),
            body: body.map { Array($0.utf8) },
            // Passwords take seconds in a program that is not optimized.
            totalTimeout: .seconds(120),
            idleTimeout: .seconds(120),
            maximumRedirects: 0,
            addresses: .any
        )
        let response = try await http.send(request)
        return Answer(status: response.status, text: String(decoding: response.body, as: UTF8.self))
    }

    private struct Login: Decodable {
        let token: String
    }

    /// Logs a user in.
    ///
    /// - Returns: The header that signs in with the token.
    func logIn(_ user: String) async throws -> String {
        let basic = Data("\(user):\(BackendStage.password)".utf8).base64EncodedString()
        let answer = try await send("POST", "/api/login", as: "Basic \(basic)")
        try #require(answer.status == 200, "\(answer.text)")
        return "Bearer \(try JSONDecoder().decode(Login.self, from: Data(answer.text.utf8)).token)"
    }

    /// Registers a device; `handle` is the JSON of a push handle.
    ///
    /// - Returns: Its id.
    func register(_ platform: String, _ handle: String, as credentials: String) async throws -> String {
        let made = try await send("POST", "/api/register", as: credentials)
        try #require(made.status == 200, "\(made.text)")
        try await register(platform, handle, id: made.id, as: credentials)
        return made.id
    }

    /// Registers a device under an id that it has stored.
    func register(_ platform: String, _ handle: String, id: String, as credentials: String) async throws {
        let body = #"{"Platform":"\#(platform)","Handle":\#(handle)}"#
        let put = try await send("PUT", "/api/register/\(id)", as: credentials, body)
        try #require(put.status == 200, "\(put.text)")
    }

    // MARK: - The hub

    /// All registrations of the hub.
    func registrations() async throws -> [Registration] {
        let hub = try HubClient(connection: try connection, hub: HubName("news"), http: http)
        var found: [Registration] = []
        try await hub.forEachPage(of: .all) { found += $0.registrations }
        return found
    }

    /// What emulated push services were sent for a device, as JSON.
    func inbox(_ handle: String) async throws -> String {
        let query = PercentEncoding.encode(handle)
        let answer = try await sendToHub("GET", "/news/emulator/inbox?handle=\(query)")
        try #require(answer.status == 200, "\(answer.text)")
        return answer.text
    }

    /// The newest messages of the hub.
    func messages() async throws -> [MessageReport] {
        let answer = try await sendToHub("GET", "/news/deliveries?last=100")
        try #require(answer.status == 200, "\(answer.text)")
        return try JSONDecoder().decode(MessageReports.self, from: Data(answer.text.utf8)).messages
    }
}
