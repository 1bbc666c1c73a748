import FoundationEssentials
import HubProtocol
import HubTestServer
import NetworkAddresses
import OutboundHTTP
import Synchronization
import Testing

@testable import HubClient

/// A clock that a test sets.
final class TestClock: Sendable {
    private let time: Mutex<Int64>

    init(_ time: Int64) {
        self.time = Mutex(time)
    }

    var seconds: Int64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }

    var date: Date { Date(timeIntervalSince1970: Double(seconds)) }
}

/// A client of a scripted hub named `news`.
struct ScriptedHub {
    static let key = "h+3Qd/9kT0YbZ1x7Vn5rLw2mKc8sPqEoJ6uGaFyNiXM="
    let server: ScriptedHTTPServer
    let client: HubClient
    let clock = TestClock(1_800_000_000)

    init(_ answer: @escaping @Sendable (RecordedRequest) -> ScriptedReply) throws {
        server = try ScriptedHTTPServer(answer)
        let connection = try ConnectionString(
            endpoint: server.baseURL,
            keyName: "DefaultListenSharedAccessSignature",
            key: Self.key
        )
        client = try HubClient(
            connection: connection,
            hub: HubName("news"),
            http: OutboundClient(userAgent: "newswire-test/1"),
            now: { [clock] in clock.date }
        )
    }

    static func refusal(_ status: Int, _ detail: String, headers: [(String, String)] = []) -> ScriptedReply {
        let body = ProtocolError(status: status, detail: detail).xml(trackingID: "t", at: Date())
        return .status(status, headers: headers + [("Content-Type", "application/xml; charset=utf-8")], body: body)
    }
}

@Suite struct HubClientTests {
    private let secret = PushChannelSecret.random()

    private func installation() throws -> Installation {
        Installation(
            id: try InstallationID("agent:1"),
            platform: .stream,
            pushChannel: .handle(secret.text),
            tags: [try Tag("World")]
        )
    }

    @Test func `an installation travels with its secret and a token for the hub`() async throws {
        let hub = try ScriptedHub { _ in .status(200) }
        try await hub.client.put(installation(), channel: secret)
        let request = try #require(hub.server.requests.first)
        #expect(request.method == "PUT")
        #expect(request.path == "/news/installations/agent%3A1")
        #expect(request.query == "api-version=2020-06")
        #expect(request.header("Content-Type") == "application/json")
        #expect(request.header("Newswire-Push-Channel") == secret.text)
        #expect(try Installation(json: request.body) == installation())
        let token = try SharedAccessToken(parsing: try #require(request.header("Authorization")))
        #expect(token.isSigned(with: ScriptedHub.key))
        #expect(token.covers(path: "/news/installations/agent%3A1"))
        #expect(!token.covers(path: "/other/messages"))
        #expect((3_600...5_400).contains(token.expiresAt - hub.clock.seconds))
    }

    @Test func `tokens that clients sign at the same time expire at different times`() throws {
        let connection = try ConnectionString(endpoint: "http://127.0.0.1:1", keyName: "r", key: ScriptedHub.key)
        let expiries = try (0..<1_000).map { _ in
            let source = TokenSource(resource: "http://h/news", connection: connection)
            let token = try SharedAccessToken(parsing: source.token(now: 1_900_000_000))
            let later = try SharedAccessToken(parsing: source.token(now: 1_900_002_700))
            #expect(later == token, "while it lasts 900 s")
            return token.expiresAt - 1_900_000_000
        }
        #expect(expiries.allSatisfy { TokenSource.lifetimes.contains($0) })
        // Evenly spread, 30 minutes have one in two seconds or so.
        let most = Dictionary(grouping: expiries) { $0 }.values.map(\.count).max() ?? 0
        #expect(most <= 20)
    }

    @Test func `a body that is not a list of categories is a malformed reply`() async throws {
        let hub = try ScriptedHub { _ in .status(200, body: "<html>") }
        await #expect(throws: HubError.self) { try await hub.client.categories() }
    }

    @Test func `a deletion names the installation`() async throws {
        let hub = try ScriptedHub { _ in .status(204) }
        #expect(try await hub.client.delete(try InstallationID("a"), channel: secret))
        #expect(hub.server.requests.map(\.method) == ["DELETE"])
        #expect(hub.server.requests.allSatisfy { $0.header("Newswire-Push-Channel") == secret.text })
    }

    @Test func `deleting what is not there is done`() async throws {
        let hub = try ScriptedHub { _ in ScriptedHub.refusal(404, "Installation not found") }
        #expect(try await !hub.client.delete(InstallationID("a")))
    }

    @Test func `a message travels with tags, format and key, and its id comes from the location`() async throws {
        let hub = try ScriptedHub { _ in
            .status(201, headers: [("Location", "https://hub/news/messages/0123abcd-7?api-version=2020-06")])
        }
        let id = try await hub.client.send(
            Array(#"{"messageParam":"x"}"#.utf8),
            tags: "World && !Sports",
            idempotencyKey: "k1"
        )
        #expect(id?.text == "0123abcd-7")
        let request = try #require(hub.server.requests.first)
        #expect(request.method == "POST")
        #expect(request.path == "/news/messages/")
        #expect(request.header("ServiceBusNotification-Format") == "template")
        #expect(request.header("ServiceBusNotification-Tags") == "World && !Sports")
        #expect(request.header("Idempotency-Key") == "k1")
        #expect(request.text == #"{"messageParam":"x"}"#)
    }

    @Test func `a broadcast has no tags header and a reply without location no id`() async throws {
        let hub = try ScriptedHub { _ in .status(201) }
        #expect(try await hub.client.send([0x7B, 0x7D], tags: "", idempotencyKey: nil) == nil)
        #expect(hub.server.requests.first?.header("ServiceBusNotification-Tags") == nil)
        #expect(hub.server.requests.first?.header("Idempotency-Key") == nil)
    }

    @Test func `our own routes are used where they are`() async throws {
        let hub = try ScriptedHub { request in
            switch request.path {
            case "/news/categories": .status(200, body: #"{"categories":["World","Sports"]}"#)
            case "/news/recipients": .status(200, body: #"{"total":3,"platforms":{"stream":3}}"#)
            default: .status(200)
            }
        }
        #expect(try await hub.client.categories() == ["World", "Sports"])
        #expect(try await hub.client.recipients(tags: "World").total == 3)
        try await hub.client.setCategories(["World"], publisher: "desk 1/a")
        #expect(hub.server.requests[1].text == #"{"tags":"World"}"#)
        #expect(hub.server.requests[2].path == "/news/categories/desk%201%2Fa")
        #expect(hub.server.requests[2].text == #"{"categories":["World"]}"#)
    }

    @Test func `a report on a message is asked for, and refused in the hub's words`() async throws {
        let report =
            #"{"acceptedAt":"2030-03-17T17:46:40Z","expiresAt":"2030-03-20T17:46:40Z","id":"m1","position":7,"#
            + #""state":"Soon","streams":{"expired":0,"gone":0,"matched":2,"owed":1,"resumedPast":0,"written":1}}"#
        let hub = try ScriptedHub { request in
            switch request.path {
            case "/news/deliveries": .status(200, body: #"{"messages":[\#(report)]}"#)
            case "/news/deliveries/m1": .status(200, body: report)
            case "/news/deliveries/m2": ScriptedHub.refusal(404, "There is no message 'm2' here.")
            default: .status(200, body: "{}")
            }
        }
        let known = try await hub.client.report(on: MessageID("m1"), device: "agent:1")
        #expect(known.streams.written == 1 && known.matched == nil && known.device == nil)
        #expect(known.state.rawValue == "Soon", "a state of a newer hub")
        #expect(hub.server.requests.last?.query == "api-version=2020-06&device=agent%3A1")
        #expect(try await hub.client.newestMessages(5) == [known])
        #expect(hub.server.requests.last?.query == "api-version=2020-06&last=5")
        let refused = await #expect(throws: HubError.self) { try await hub.client.report(on: MessageID("m2")) }
        #expect(refused.map { "\($0)" } == "the hub refused with 404: There is no message 'm2' here.")
        await #expect(throws: HubError.malformedReply("the report cannot be read")) {
            try await hub.client.report(on: MessageID("m3"))
        }
    }

    @Test(arguments: [404, 405, 501])
    func `our own operations are unsupported where their routes are absent`(_ status: Int) async throws {
        let hub = try ScriptedHub { _ in .status(status) }
        let error = HubError.unsupported(status: status, detail: "no reason given")
        await #expect(throws: error) { try await hub.client.categories() }
        await #expect(throws: error) { try await hub.client.recipients(tags: "World") }
        await #expect(throws: error) { try await hub.client.setCategories([], publisher: "p") }
        await #expect(throws: error) { try await hub.client.credentials(asking: false) }
        #expect(try await hub.client.listedCategories() == nil)
        #expect(error.isPermanent && error.isCertain)
    }
}

// MARK: - Refusals

extension HubClientTests {
    private func failure(of reply: ScriptedReply) async throws -> HubError? {
        let hub = try ScriptedHub { _ in reply }
        do throws(HubError) {
            _ = try await hub.client.send([], tags: nil, idempotencyKey: nil)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: [
        (400, "Bad tag", 40000, true), (401, "ExpiredToken: The token has expired.", 40106, true),
        (401, "InvalidSignature: The token has an invalid signature.", 40103, true), (404, "No such hub", 40400, true),
        (409, "SubCode=40900. Conflict.", 40900, true), (413, "Too large", 41300, true),
        (422, "Same key, other content", 42200, true), (429, "Slow down", 42900, false),
        (503, "Disk full", 50004, false),
        (500, "oh", 50000, false), (408, "late", 40800, false),
    ])
    func `a refusal keeps status, code and words`(
        _ status: Int,
        _ detail: String,
        _ code: Int,
        _ isPermanent: Bool
    ) async throws {
        let error = try #require(try await failure(of: ScriptedHub.refusal(status, detail)))
        #expect(error == .refused(status: status, code: code, detail: detail, retryAfter: nil))
        #expect(error.isPermanent == isPermanent)
        #expect(error.description == "the hub refused with \(status): \(detail)")
    }

    @Test func `the time to wait is passed on and makes a 403 passing`() async throws {
        let error = try await failure(of: ScriptedHub.refusal(403, "quota", headers: [("Retry-After", "7")]))
        #expect(error == .refused(status: 403, code: 40300, detail: "quota", retryAfter: .seconds(7)))
        #expect(error?.isPermanent == false)
    }

    @Test(arguments: ["", "<html>502 Bad Gateway</html>", "\u{1B}[31m"])
    func `a refusal without the protocol's words says so`(_ body: String) async throws {
        let error = try #require(try await failure(of: .status(502, body: body)))
        #expect(error.description == "the hub refused with 502: no reason given")
    }

    @Test func `hostile words become one bounded printable line`() async throws {
        let long = String(repeating: "x", count: 2_000)
        let error = try await failure(of: ScriptedHub.refusal(400, "a\nb\u{202E}c \(long)"))
        guard case .refused(_, _, let detail, _) = error else {
            Issue.record("not refused")
            return
        }
        #expect(detail.hasPrefix("a b c xxx"))
        #expect(detail.count <= 500)
    }

    @Test func `a redirect is not followed and says what may be wrong`() async throws {
        let error = try await failure(of: .redirect(301, to: "https://me:pw@elsewhere.example/?sig=1"))
        #expect(
            error?.description == "unexpected answer: the hub redirects to 'https://elsewhere.example/?…'; is the "
                + "endpoint in the connection string right?"
        )
    }

    @Test func `a hub that is away is unreachable and not for good`() async throws {
        let hub = try ScriptedHub { _ in .status(200) }
        hub.server.close()
        let error = await #expect(throws: HubError.self) { try await hub.client.categories() }
        #expect(error == .unreachable("cannot reach '127.0.0.1:\(hub.server.port)': connection refused"))
        #expect(error?.isPermanent == false)
    }

    @Test(arguments: [DistrustCause.unknownAuthority, .otherName, .notValidNow, .other])
    func `a hub that proves nothing is unreachable, and the hint has the cause`(cause: DistrustCause) {
        let error = HubError(OutboundError.untrusted(host: "h:1", reason: "no", cause: cause))
        #expect(error.description == "cannot trust 'h:1': no")
        #expect(error.hint == .certificate(cause))
        #expect(!error.isPermanent)
    }

    @Test(
        arguments: [
            (401, 40_100, .listenersKey), (401, 40_103, .key), (401, 40_106, .clock),
            (403, 403, .rights), (404, 40_400, .hubName), (400, 400, .noHub), (503, 50_004, nil), (429, 42_900, nil),
        ] as [(Int, Int, HubHint?)]
    )
    func `the code decides what may help`(status: Int, code: Int, hint: HubHint?) {
        let error = HubError.refused(status: status, code: code, detail: "ExpiredToken", retryAfter: nil)
        #expect(error.hint == hint)
    }

    @Test func `cancelling a call is reported as a cancellation`() async throws {
        let hub = try ScriptedHub { _ in .never }
        let task = Task { try await hub.client.categories() }
        _ = await hub.server.requests(atLeast: 1)
        task.cancel()
        await #expect(throws: HubError.cancelled) { try await task.value }
    }

    @Test func `plain HTTP to another machine needs permission`() throws {
        let connection = try ConnectionString(endpoint: "http://hub.example/", keyName: "n", key: "k")
        let http = OutboundClient(userAgent: "t")
        #expect(throws: ConnectionStringError.self) {
            try HubClient(connection: connection, hub: HubName("news"), http: http)
        }
        let client = try HubClient(connection: connection, hub: HubName("news"), http: http, allowPlainHTTP: true)
        #expect(client.address == "http://hub.example/news")
    }
}

// MARK: - Tokens

extension HubClientTests {
    @Test func `a token is kept while it is good and renewed well before its end`() async throws {
        let hub = try ScriptedHub { _ in .status(404) }
        func token() async throws -> String? {
            _ = try await hub.client.listedCategories()
            return hub.server.requests.last?.header("Authorization")
        }
        let first = try await token()
        hub.clock.seconds += 2_000
        #expect(try await token() == first)
        hub.clock.seconds += 2_600
        let second = try await token()
        #expect(second != first)
        // Set back a day: the old token would seem good for longer than any lasts.
        hub.clock.seconds -= 86_400
        #expect(try await token() != second)
    }
}
