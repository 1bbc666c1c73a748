import Formats
import Foundation
import FoundationXML
import GRDB
import HubClient
import HubProtocol
import HubTestServer
import OutboundHTTP
import SQLiteFiles
import Testing

@testable import AppBackend

/// Text that was chosen to do harm: in messages, names, addresses and headers.
@Suite struct HostileTextTests {
    /// Each with what it tries.
    static let texts: [(what: String, text: String)] = [
        ("markup", #"</text></binding><text id="2">&amp;<!--]]>"#), ("quotes", #""},"aps":{"x":'\"#),
        ("lines", "a\r\nb\u{2028}c\u{2029}d"),
        ("C0", "\u{0}a\u{1}b\u{8}\u{1B}[2J\u{7F}"), ("C1", "a\u{85}b\u{9B}31mc\u{9F}"),
        ("bidirectional", "a\u{202E}b\u{2066}c\u{200F}d\u{61C}"), ("not characters", "a\u{FFFE}b\u{FFFF}c\u{1FFFF}"),
        ("expression", "bob || ann"), ("percent", "%zz%00"), ("path", "../../x/y"), ("spaces", "  \t "),
        ("long", String(repeating: "é", count: 300)),
    ]

    /// Reads the text of a document, and the number of its elements.
    private final class Reader: NSObject, XMLParserDelegate {
        private(set) var text = ""
        private(set) var elements: [String] = []

        func parser(_ parser: XMLParser, foundCharacters string: String) { text += string }

        func parser(
            _ parser: XMLParser,
            didStartElement name: String,
            namespaceURI: String?,
            qualifiedName: String?,
            attributes: [String: String]
        ) { elements.append(name) }
    }

    private struct Apns: Decodable {
        struct Aps: Decodable {
            let alert: String
        }

        let aps: Aps
    }

    // MARK: - Payloads

    @Test(arguments: texts)
    func `a notification's text is a text in every platform's form, and nothing else`(what: String, text: String) throws
    {
        let sender = try #require(UserName("alice"))
        let notification = TextNotification(sender: sender, text: text)
        let line = "From alice: \(text)"
        for platform in NotifiedPlatform.allCases {
            let body = Data(notification.message(for: platform).body)
            let note = Comment(rawValue: "\(platform), \(what): \(String(decoding: body, as: UTF8.self))")
            #expect(!body.contains(0x00) && !body.contains(0x1B) && !body.contains(0x0D), note)
            switch platform {
            case .wns:
                let (parser, reader) = (XMLParser(data: body), Reader())
                parser.delegate = reader
                #expect(parser.parse(), note)
                #expect(reader.elements == ["toast", "visual", "binding", "text"], note)
                #expect(reader.text.hasPrefix("From alice: "), note)
            case .apns:
                let object = try JSONSerialization.jsonObject(with: body) as? [String: Any]
                #expect(object.map { Array($0.keys) } == ["aps"], note)
                #expect(try JSONDecoder().decode(Apns.self, from: body).aps.alert == line, note)
            case .gcm, .fcmv1, .browser, .stream:
                let object = try JSONSerialization.jsonObject(with: body) as? [String: Any]
                let message = object?["message"] as? [String: Any]
                let data = object?["data"] as? [String: String] ?? message?["data"] as? [String: String]
                #expect((data?["message"] ?? object?["message"] as? String) == line, note)
            }
        }
    }

    @Test(arguments: texts)
    func `a payload comes back as it was sent`(what: String, text: String) async throws {
        try await TestBackend.run { backend, _ in
            let sent = try await backend.send("POST", "/api/notifications", as: "bob", JSONText(text).text)
            #expect(sent.status == 200, "\(what): \(sent.body)")
            let id = try await backend.store.read { try Int64.fetchOne($0.database, sql: "SELECT id FROM payload") }
            let received = try await SecurePushApp(backend: backend, user: "bob").fetch(Int(try #require(id)))
            #expect(received.payload.unicodeScalars.elementsEqual(text.unicodeScalars), "\(what)")
        }
    }

    @Test func `half a surrogate pair becomes a replacement character, other bytes that are not text are refused`()
        async throws
    {
        try await TestBackend.run { backend, _ in
            for (body, status) in [
                (#""\ud800""#, 200), (#""\udc00\ud800""#, 200), ("\"a\nb\"", 400), ("\"a\u{1}b\"", 400),
                (#""\u12""#, 400),
            ] {
                for target in ["/api/notifications", "/api/notifications?pns=stream&to_tag=bob"] {
                    let reply = try await backend.send("POST", target, as: "bob", body)
                    #expect(reply.status == status, "\(body): \(reply.body)")
                }
            }
            let ids = try await backend.store.read { try Int64.fetchAll($0.database, sql: "SELECT id FROM payload") }
            #expect(ids.count == 2)
            let app = SecurePushApp(backend: backend, user: "bob")
            for id in ids {
                let payload = try await app.fetch(Int(id)).payload
                #expect(payload.unicodeScalars.allSatisfy { $0 == "\u{FFFD}" }, "\(payload)")
            }
        }
    }

    @Test func `a body that is not UTF-8 is 400, and one of 64 KB and more is 413`() async throws {
        try await TestBackend.run { backend, _ in
            for (target, method) in [
                ("/api/notifications", "POST"), ("/api/notifications?pns=stream&to_tag=bob", "POST"),
                ("/api/register/1-2-3", "PUT"), ("/api/installations/x", "PUT"), ("/api/login", "POST"),
            ] {
                for (bytes, status) in [
                    ([0x22, 0xFF, 0x22], 400), ([0x22, 0xED, 0xA0, 0x80, 0x22], 400),
                    ([UInt8](repeating: 0x20, count: 110_000), 413),
                ] as [([UInt8], Int)] {
                    let reply = try await backend.send(method, target, as: "bob", bytes: bytes)
                    #expect(reply.status == status, "\(target): \(reply.body)")
                    Self.checkReply(reply, "\(target)")
                }
            }
        }
    }

    // MARK: - Names and addresses

    @Test(arguments: texts)
    func `no name, tag, handle or id of a request does harm to replies, logs or the audit log`(
        what: String,
        text: String
    ) async throws {
        let log = LogLines()
        let scratch = try ScratchFolder()
        try await TestHub.run { hub in
            try await TestBackend.run(hub.client, store: scratch.file("b.sqlite"), logger: log.logger) { backend in
                let id = try await backend.send("POST", "/api/register", as: "bob").body.dropFirst().dropLast()
                let (json, path) = (JSONText(text).text, PercentEncoding.encode(text))
                let requests: [(String, String, String?)] = [
                    ("POST", "/api/login", #"{"user":\#(json),"password":\#(json)}"#),
                    ("POST", "/api/notifications?pns=all&to_tag=\(path)", #""x""#),
                    ("POST", "/api/notifications?pns=\(path)&to_tag=bob", #""x""#),
                    ("POST", "/api/notifications", #"{"to":\#(json),"payload":"x"}"#),
                    ("POST", "/api/register?handle=\(path)", nil),
                    ("POST", "/api/register?\(path)=1&\(path)=2", nil),
                    ("PUT", "/api/register/\(id)", #"{"Platform":\#(json),"Handle":"AA"}"#),
                    ("PUT", "/api/register/\(id)", #"{"Platform":"apns","Handle":\#(json)}"#),
                    ("PUT", "/api/register/\(id)", #"{"Platform":"wns","Handle":\#(json)}"#),
                    ("PUT", "/api/register/\(id)", #"{"Platform":"apns","Handle":"AA","Tags":[\#(json)]}"#),
                    ("PUT", "/api/register/\(id)", #"{\#(json):"apns",\#(json):"AA"}"#),
                    ("PUT", "/api/register/\(path)", #"{"Platform":"apns","Handle":"AA"}"#),
                    ("DELETE", "/api/register/\(path)", nil),
                    (
                        "PUT", "/api/installations/\(path)",
                        #"{"installationId":\#(json),"platform":"apns","pushChannel":"AA"}"#
                    ),
                    (
                        "PUT", "/api/installations/x",
                        #"{"installationId":"x","platform":"apns","pushChannel":\#(json)}"#
                    ),
                    (
                        "PUT", "/api/installations/x",
                        #"{"installationId":"x","platform":"apns","pushChannel":"AA","tags":[\#(json)]}"#
                    ),
                    ("DELETE", "/api/installations/\(path)", nil), ("GET", "/api/notifications/\(path)", nil),
                    ("GET", "/\(path)", nil),
                ]
                for (method, target, body) in requests {
                    // A log-in without a header looks at its body.
                    let user = target == "/api/login" ? nil : "bob"
                    let reply = try await backend.send(method, target, as: user, body)
                    #expect(reply.status < 500, "\(what), \(method) \(target): \(reply.status) \(reply.body)")
                    Self.checkReply(reply, "\(what), \(method) \(target)")
                }
                // A name for lists is kept, and made safe where it comes in.
                let device = #"{"device":\#(JSONText(String(text.prefix(100))).text)}"#
                #expect(try await backend.send("POST", "/api/login", as: "bob", device).status == 200)
                let bob = try #require(UserName("bob"))
                let accounts = Accounts(store: backend.store)
                for token in try await accounts.tokens(of: bob) { Self.checkSafe(token.device ?? "", what) }
                await backend.backend.audit.flush()
                for record in try await accounts.audit(limit: 1_000) {
                    Self.checkSafe("\(record.who ?? "") \(record.what) \(record.outcome) \(record.network ?? "")", what)
                    #expect(record.who.map { UserName($0) != nil } ?? true)
                }
            }
        }
        for line in log.all { Self.checkSafe(line, "\(what), in the log") }
    }

    @Test func `no value of a header does harm`() async throws {
        let log = LogLines()
        let scratch = try ScratchFolder()
        try await TestHub.run { hub in
            try await TestBackend.run(hub.client, store: scratch.file("b.sqlite"), logger: log.logger) { backend in
                let values = [
                    "<b>", "\"'\\", "a\u{85}b", "\u{202E}x", "%00", String(repeating: "é", count: 4_000), ", ,;;=",
                ]
                for name in ["Accept", "Content-Type", "User-Agent", "X-Forwarded-For", "X-Forwarded-Host", "Cookie"] {
                    for value in values {
                        let reply = try await backend.send("POST", "/api/register", as: "bob", headers: [(name, value)])
                        #expect(reply.status == 200, "\(name): \(reply.body)")
                        Self.checkReply(reply, name)
                    }
                }
                for value in values {
                    let headers = [("Origin", value)]
                    let reply = try await backend.send("POST", "/api/register", as: "bob", headers: headers)
                    #expect(reply.status == 403, "\(value): \(reply.body)")
                    Self.checkReply(reply, "Origin")
                }
            }
        }
        for line in log.all { Self.checkSafe(line, "in the log") }
    }

    // MARK: - Checks

    /// A reply is empty or JSON, and shows on any terminal what it says.
    private static func checkReply(_ reply: BackendReply, _ what: String) {
        checkSafe(reply.body, what)
        guard !reply.body.isEmpty else { return }
        let value = try? JSONSerialization.jsonObject(with: Data(reply.body.utf8), options: .fragmentsAllowed)
        #expect(value != nil, "\(what): \(reply.body)")
        #expect(reply.body.utf8.count < 2_000, "\(what)")
    }

    /// Looks for control characters, and for those that turn the order of others around.
    private static func checkSafe(_ text: String, _ what: String) {
        let harmful = text.unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x61C, 0x2028, 0x2029, 0x202A...0x202E, 0x2066...0x2069: true
            default: false
            }
        }
        #expect(harmful.isEmpty, "\(what): \(harmful.map { String($0.value, radix: 16) })")
    }
}
