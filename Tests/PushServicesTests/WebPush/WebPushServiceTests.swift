import Crypto
import Formats
import Foundation
import HubProtocol
import HubTestServer
import Testing

@testable import PushServices

@Suite struct WebPushServiceTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        var headers: [String: String] = [:]
        var body = ""
        let kind: String
        /// Part of the reason.
        var words = ""

        var testDescription: String { "\(status) \(headers) \(body)" }
    }

    static let wait = ["Retry-After": "7"]

    static func mozilla(_ status: Int, _ code: Int, _ kind: String, _ headers: [String: String] = [:]) -> Row {
        Row(
            status: status,
            headers: headers,
            body: "{\"code\":\(status),\"errno\":\(code),\"error\":\"E\",\"message\":\"told why\"}",
            kind: kind,
            words: "told why (\(code))"
        )
    }

    static func apple(_ status: Int, _ reason: String, _ kind: String) -> Row {
        Row(status: status, body: "{\"reason\":\"\(reason)\"}", kind: kind, words: reason)
    }

    static let statuses = [
        Row(
            status: 201,
            headers: ["Location": "https://p.example/m/1", "TTL": "60"],
            kind: "accepted https://p.example/m/1"
        ),
        Row(status: 201, kind: "accepted -"), Row(status: 200, body: "ok", kind: "accepted -"),
        Row(status: 202, headers: ["Location": "/r"], kind: "accepted /r"), Row(status: 204, kind: "accepted -"),
        Row(status: 301, headers: ["Location": "https://evil.example/"], kind: "retry -", words: "301"),
        Row(status: 302, kind: "retry -"), Row(status: 303, kind: "retry -"), Row(status: 304, kind: "retry -"),
        Row(status: 307, headers: ["Location": "/"], kind: "retry -"), Row(status: 308, kind: "retry -"),
        Row(status: 407, kind: "retry -"), Row(status: 421, kind: "retry -"),
        Row(status: 404, body: "<!DOCTYPE html><title>Not found</title>", kind: "retry -"),
        Row(status: 403, headers: ["Content-Type": "text/html"], body: "blocked by a proxy", kind: "retry -"),
        Row(
            status: 201,
            headers: ["X-WNS-Status": "dropped", "X-WNS-Error-Description": "The cache is full."],
            kind: "dropped",
            words: "The cache is full."
        ),
        Row(
            status: 400,
            headers: ["X-WNS-Error-Description": "TTL must be positive."],
            kind: "bad message",
            words: "TTL must be positive."
        ),
        Row(
            status: 403,
            body: "the VAPID credentials in the authorization header do not correspond to the credentials used",
            kind: "bad route"
        ),
        Row(status: 400, kind: "bad message"),
        Row(status: 400, body: "Invalid TTL", kind: "bad message", words: "Invalid TTL"),
        Row(status: 400, body: "<HTML>UnauthorizedRegistration</HTML>", kind: "refused sender"),
        Row(status: 400, body: "invalid VAPID header", kind: "refused sender", words: "invalid VAPID header"),
        Row(status: 401, kind: "refused sender"),
        Row(status: 403, body: "not yours", kind: "refused sender", words: "not yours"),
        Row(status: 404, kind: "dead"), Row(status: 405, kind: "bad route"),
        Row(status: 406, headers: wait, kind: "throttled host 7"), Row(status: 406, kind: "throttled host -"),
        Row(status: 408, kind: "retry -"), Row(status: 410, kind: "dead"), Row(status: 413, kind: "too large"),
        Row(status: 415, kind: "bad message"), Row(status: 425, headers: wait, kind: "retry 7"),
        Row(status: 429, headers: wait, kind: "throttled handle 7"), Row(status: 429, kind: "throttled handle -"),
        Row(
            status: 429,
            headers: ["Retry-After": "Fri, 15 Jan 2027 08:00:30 GMT"],
            kind: "throttled handle 30"
        ),
        Row(status: 429, headers: ["Retry-After": "soon"], kind: "throttled handle -"),
        Row(status: 500, kind: "retry -"), Row(status: 500, headers: wait, kind: "retry 7"),
        Row(status: 502, body: "<html>bad gateway</html>", kind: "retry -"),
        Row(status: 503, headers: wait, kind: "retry 7"),
        Row(status: 504, kind: "retry -"), Row(status: 507, kind: "retry -"),
        Row(status: 507, headers: wait, kind: "retry 7"),
    ]

    /// Source: Mozilla, "autopush HTTP endpoints: error codes".
    static let codes = [
        mozilla(404, 102, "dead"), mozilla(400, 102, "dead"), mozilla(410, 103, "dead"), mozilla(410, 105, "dead"),
        mozilla(410, 106, "dead"), mozilla(404, 106, "dead"), mozilla(413, 104, "too large"),
        mozilla(401, 109, "refused sender"), mozilla(400, 109, "refused sender"), mozilla(400, 110, "bad message"),
        mozilla(400, 111, "bad message"), mozilla(400, 112, "bad message"), mozilla(400, 113, "bad message"),
        mozilla(400, 114, "bad message"), mozilla(503, 201, "retry 7", wait), mozilla(503, 201, "retry -"),
        mozilla(429, 201, "throttled handle 7", wait), mozilla(503, 202, "retry -"), mozilla(500, 999, "retry -"),
        mozilla(405, 999, "bad route"), mozilla(502, 901, "retry -"), mozilla(503, 902, "retry 7", wait),
        mozilla(400, 905, "retry -"), mozilla(410, 904, "dead"), mozilla(404, 904, "dead"),
        mozilla(201, 102, "accepted -"), mozilla(400, 7, "bad message"),
    ]

    static let reasons = [
        apple(400, "VapidPkHashMismatch", "bad route"), apple(400, "BadJwtToken", "refused sender"),
        apple(403, "BadJwtToken", "refused sender"), apple(403, "ExpirationDateOutOfRange", "refused sender"),
        apple(400, "ExpirationDateOutOfRange", "refused sender"), apple(403, "VapidPkHashMismatch", "bad route"),
        apple(400, "BadExpirationDate", "bad message"), apple(413, "PayloadTooLarge", "too large"),
        apple(410, "Unregistered", "dead"), apple(404, "BadPath", "dead"),
        apple(429, "TooManyRequests", "throttled handle -"),
        apple(500, "InternalServerError", "retry -"), apple(503, "ServiceUnavailable", "retry -"),
    ]

    @Test(arguments: statuses + codes + reasons)
    func `every reply has one outcome`(_ row: Row) async throws {
        let peer = try WebPushPeer { _ in
            .status(row.status, headers: row.headers.map { ($0.key, $0.value) }, body: row.body)
        }
        let outcome = try await peer.send()
        #expect(outcome.kind == row.kind)
        #expect(peer.server.requests.count == 1)
        if case .accepted = outcome { return }
        #expect(row.words.isEmpty || outcome.words.contains(row.words))
        #expect(outcome.words.contains("'127.0.0.1:\(peer.server.port)'"))
        #expect(!outcome.words.contains("secret-path") && !outcome.words.contains { $0.isNewline })
    }

    @Test func `a reason is one short line without the endpoint's path`() async throws {
        let text = "no such endpoint: /push/secret-path?a=b\r\n\u{1B}[31m" + String(repeating: "x", count: 5_000)
        let peer = try WebPushPeer { _ in .status(400, body: text) }
        let words = try await peer.send().words
        #expect(words.contains("no such endpoint: …") && words.count < 300)
        #expect(!words.contains("secret-path") && !words.unicodeScalars.contains { $0.value < 0x20 })
    }

    @Test func `a request has the headers of the specifications and a body for the browser alone`() async throws {
        let key = P256.Signing.PrivateKey()
        let peer = try WebPushPeer(key) { _ in .status(201) }
        let message = WebPushSender.message("Grüße", ["ttl": "60", "urgency": "low", "topic": "news"])
        peer.clock.now = peer.clock.now + .seconds(20)
        #expect(try await peer.send(message).kind == "accepted -")
        let request = try #require(peer.server.requests.first)
        #expect(request.method == "POST" && request.target == "/push/secret-path?a=b")
        #expect(request.header("TTL") == "40")
        #expect(request.header("Urgency") == "low")
        #expect(request.header("Topic") == "news")
        #expect(request.header("Content-Encoding") == "aes128gcm")
        #expect(request.header("Content-Type") == "application/octet-stream")
        #expect(request.header("Content-Length") == "\(request.body.count)")
        #expect(request.header("User-Agent") == "test/1")
        #expect(request.header("Expect") == nil)
        #expect(request.vapid.key == WebPushSender.publicText(key))
        let text = try #require(request.vapid.token.split(separator: ".").dropFirst().first)
        let claims = try JSONReader.read(try #require(Base64URL.decode(String(text))))
        #expect(claims["aud"]?.string == peer.server.baseURL)
        #expect(try peer.browser.read(request.body) == Array("Grüße".utf8))
    }

    @Test func `what was not given is derived or left out`() async throws {
        let peer = try WebPushPeer { _ in .status(201) }
        for _ in 0..<2 { _ = try await peer.send() }
        _ = try await peer.send(to: peer.target(expiresAt: peer.clock.now + .seconds(90)))
        _ = try await peer.send(WebPushSender.message("x", ["ttl": "0"]))
        let requests = peer.server.requests
        #expect(requests.map { $0.header("TTL") } == ["2419200", "2419200", "90", "0"])
        #expect(requests.map { $0.header("Topic") } == [String?](repeating: "AAECAwQFBgcICQoLDA0O_w", count: 4))
        #expect(requests.allSatisfy { $0.header("Urgency") == nil })
        // One token for all, and a key pair for each.
        #expect(Set(requests.map { $0.header("Authorization") }).count == 1)
        #expect(Set(requests.map(\.body)).count == 4)
    }

    @Test func `a message without a body has no encoding either`() async throws {
        let peer = try WebPushPeer { _ in .status(201) }
        _ = try await peer.send(WebPushSender.message(""))
        let request = try #require(peer.server.requests.first)
        #expect(request.body.isEmpty && request.header("Content-Length") == "0")
        #expect(request.header("Content-Encoding") == nil && request.header("Content-Type") == nil)
        #expect(request.header("TTL") != nil)
    }

    @Test func `invalid subscriptions and keys are not sent to`() async throws {
        let peer = try WebPushPeer { _ in .status(201) }
        let handle = PushTarget(channel: .handle("https://127.0.0.1/push/x"), id: WebPushPeer.targetID)
        #expect(try await peer.send(to: handle).kind == "unsendable")
        let good = peer.browser.channel()
        for channel in [
            BrowserPushChannel(endpoint: good.endpoint, p256dh: "AAAA", auth: good.auth),
            BrowserPushChannel(endpoint: good.endpoint, p256dh: good.p256dh, auth: "AAAA"),
        ] {
            let outcome = try await peer.send(to: PushTarget(channel: .browser(channel), id: WebPushPeer.targetID))
            #expect(outcome.kind == "unsendable")
        }
        #expect(try await peer.send(to: peer.target("https://permanently-removed.invalid/x")).kind == "dead")
        #expect(try await peer.send(to: peer.target("https://fcm.googleapis.com/x")).kind == "unsendable")
        #expect(peer.server.requests.isEmpty)
    }

    @Test(arguments: [301, 302, 303, 307, 308])
    func `a redirect to a private address is not followed`(_ status: Int) async throws {
        let inner = try ScriptedHTTPServer { _ in .status(201) }
        let target = inner.url("/admin")
        let peer = try WebPushPeer { _ in .redirect(status, to: target) }
        #expect(try await peer.send().kind == "retry -")
        #expect(peer.server.requests.count == 1 && inner.requests.isEmpty)
    }

    @Test func `a connection that ends is tried once more, and then later`() async throws {
        let peer = try WebPushPeer { _ in .hangUp }
        #expect(try await peer.send().kind == "retry -")
        #expect(peer.server.requests.count == 2)
        let server = try ScriptedHTTPServer { _ in .status(201) }
        let port = server.port
        server.close()
        let service = try WebPushService(
            WebPushSender.credential(P256.Signing.PrivateKey()),
            WebPushSender.surroundings(emulated: "http://127.0.0.1:\(port)")
        )
        let push = try ReadyPush(WebPushSender.message(), by: service)
        #expect(await push.send(to: peer.target()).kind == "retry -")
    }

    @Test func `a cancelled attempt and one that is shut down are tried later`() async throws {
        let peer = try WebPushPeer { _ in .never }
        let attempt = Task { try await peer.send() }
        _ = await peer.server.requests(atLeast: 1)
        attempt.cancel()
        #expect(try await attempt.value.kind == "retry -")
        let other = Task { try await peer.send() }
        _ = await peer.server.requests(atLeast: 2)
        await peer.service.shutdown()
        #expect(try await other.value.kind == "retry -")
    }

    @Test func `an answer that is too large is not read to its end`() async throws {
        let body = String(repeating: "x", count: 70_000)
        let peer = try WebPushPeer { _ in .status(500, body: body) }
        #expect(try await peer.send().kind == "retry -")
    }
}
