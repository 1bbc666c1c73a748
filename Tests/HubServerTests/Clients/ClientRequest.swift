import Crypto
import Foundation
import HubProtocol
import StreamProbe
import Testing

@testable import HubServer

/// A request as a client library sends it, recorded from the library itself, with the status by which we answer.
///
/// Words in braces stand for what differs from hub to hub; `Requests/` holds a file for each client.
struct ClientRequest: Decodable, Sendable {
    let name: String
    /// Method, target and version; clients that speak HTTP/2 write their headers' names in lower case.
    let request: String
    let headers: [String]
    let body: String
    let status: Int

    var method: String { String(request.prefix { $0 != " " }) }
    var target: String { String(request.split(separator: " ")[1]) }
    var isHTTP2: Bool { request.hasSuffix("HTTP/2") }

    /// The row of the table in `docs/protocol-coverage.md`.
    var operation: String {
        let path = target.prefix { $0 != "?" }.lowercased()
        let hasFilter = target.lowercased().contains("filter")
        let format = headers.first { $0.lowercased().hasPrefix("servicebusnotification-format:") }?
            .split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces).lowercased() }
        switch true {
        case path.contains("/jobs"): return "import and export jobs"
        case path.contains("/registrationids"): return "registration: new id"
        case path.contains("/tags/"): return "registrations: list by tag"
        case path.contains("/registrations"):
            let isSingle = path.contains("/registrations/{id}")
            switch method {
            case "POST": return "registration: create"
            case "PUT":
                let isConditional = headers.contains { $0.lowercased().hasPrefix("if-match:") }
                return isConditional ? "registration: update" : "registration: create or update"
            case "DELETE": return "registration: delete"
            default: return isSingle ? "registration: read" : "registrations: list\(hasFilter ? " by handle" : "")"
            }
        case path.contains("/installations/"):
            let verbs = ["PUT": "create or overwrite", "PATCH": "patch", "DELETE": "delete"]
            return "installation: \(verbs[method] ?? "read")"
        case path.contains("/schedulednotifications"): return method == "POST" ? "schedule" : "cancel a schedule"
        case path.contains("/messages"):
            if method == "GET" { return "telemetry of a message" }
            if path.contains("$batch") { return "send: batch" }
            let isDirect = headers.contains { $0.lowercased().hasPrefix("servicebusnotification-devicehandle:") }
            if isDirect { return "send: direct" }
            if target.lowercased().contains("&test") || target.lowercased().contains("?test") { return "send: test" }
            return format == nil || format == "template" ? "send: template" : "send: native"
        case path.contains("/feedbackcontainer"): return "feedback container"
        case path == "/" || path.contains("$resources"): return "hubs: list"
        default:
            let verbs = ["PUT": "create or update", "DELETE": "delete"]
            return "hub: \(verbs[method] ?? "read")"
        }
    }
}

/// A client library of which requests were recorded.
enum ClientLibrary: String, CaseIterable, Sendable {
    case dotnet, java, js
    case azureSB = "azure-sb"
    case python, php, phpw, god, gom, ruby, android, ios

    /// As the protocol document names it.
    var title: String {
        switch self {
        case .dotnet: ".NET"
        case .java: "Java"
        case .js: "JS"
        case .azureSB: "azure-sb"
        case .python: "Python"
        case .php: "PHP"
        case .phpw: "PHP-w"
        case .god: "Go-d"
        case .gom: "Go-m"
        case .ruby: "Ruby-m"
        case .android: "Android"
        case .ios: "iOS"
        }
    }

    var requests: [ClientRequest] {
        get throws {
            let file = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "Requests/\(rawValue).json")
            return try JSONDecoder().decode([ClientRequest].self, from: Data(contentsOf: file))
        }
    }
}

/// A recorded request and whose it is: a test case of its own.
struct RecordedRequest: Sendable, CustomTestStringConvertible {
    let client: ClientLibrary
    let request: ClientRequest
    /// From 1 on, of all requests.
    let number: Int

    static var all: [RecordedRequest] {
        get throws {
            let requests = try ClientLibrary.allCases.flatMap { client in
                try client.requests.map { (client, $0) }
            }
            return zip(requests, 1...).map { RecordedRequest(client: $0.0, request: $0.1, number: $1) }
        }
    }

    var testDescription: String { "\(client.title): \(request.name)" }
}

/// What the braces of a request stand for, and the keys that sign it.
struct ClientSession: Sendable {
    var values: [String: String]
    let keys: [String: AccessRule]

    /// Sends the request as the client does, its token signed in the client's own form, and reads the reply.
    func exchange(_ request: ClientRequest, expires: Int64, port: Int) async throws -> Reply {
        let headers = try request.headers.map { header in
            let isToken = header.lowercased().hasPrefix("authorization:")
            let line = isToken ? try signed(header, expires: expires) : filled(header)
            let name = line.prefix { $0 != ":" }
            return (name: String(name), value: String(line.dropFirst(name.count + 1).drop { $0 == " " }))
        }
        let body = filled(request.body)
        if request.isHTTP2 {
            let address = [
                (name: ":method", value: request.method), (":scheme", "https"), (":authority", "h"),
                (":path", filled(request.target)),
            ]
            return try await HTTP2Exchange.send(port, headers: address + headers, body: body)
        }
        var lines = [filled(request.request), "Host: h", "Connection: close"]
        lines += headers.map { "\($0.name): \($0.value)" }
        if !body.isEmpty || ["POST", "PUT", "PATCH"].contains(request.method) {
            lines.append("Content-Length: \(body.utf8.count)")
        }
        let connection = try await Connection.open(port)
        try await connection.send(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        return try await connection.reply()
    }

    private func filled(_ text: String) -> String {
        values.reduce(text) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    /// The signature covers the text of `sr` as it stands, however the client has encoded it.
    private func signed(_ header: String, expires: Int64) throws -> String {
        let rule = header.contains("{nsrule}") ? keys["nsrule"] : keys["rule"]
        guard let rule else { throw TestHub.Stopped() }
        let filled = filled(header.replacing("{se}", with: "\(expires)"))
            .replacing("{rule}", with: rule.name).replacing("{nsrule}", with: rule.name)
        guard let start = filled.range(of: "sr=")?.upperBound else { throw TestHub.Stopped() }
        let resource = filled[start...].prefix { $0 != "&" }
        let code = HMAC<SHA256>.authenticationCode(
            for: Data("\(resource)\n\(expires)".utf8),
            using: SymmetricKey(data: Data(rule.primaryKey.utf8))
        )
        let isLowerCase = filled.contains("%3a") || filled.contains("%2f")
        let escapes = isLowerCase ? ["%2b", "%2f", "%3d"] : ["%2B", "%2F", "%3D"]
        let signature = zip(["+", "/", "="], escapes).reduce(Data(code).base64EncodedString()) {
            $0.replacing($1.0, with: $1.1)
        }
        return filled.replacing("{sig}", with: signature)
    }
}
