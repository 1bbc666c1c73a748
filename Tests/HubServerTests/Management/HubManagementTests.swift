import Crypto
import Foundation
import HubProtocol
import HubRouting
import HubStore
import PushServices
import StreamProbe
import Synchronization
import Testing

@testable import HubServer

struct HubManagementTests {
    @Test func `a hub is made, read, updated and deleted as the SDKs do it`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let made = try await hub.manage("PUT", "/orders?api-version=2017-04", TestHub.entry())
            #expect(made.status == 201)
            #expect(made.headers["content-type"] == "application/atom+xml; type=entry; charset=utf-8")
            let beginning = """
                <entry xmlns="http://www.w3.org/2005/Atom"><id>https://h/orders?api-version=2017-04</id>\
                <title type="text">orders</title><published>2030-03-17T17:46:40Z</published>\
                <updated>2030-03-17T17:46:40Z</updated><author><name>h</name></author>\
                <link rel="self" href="https://h/orders?api-version=2017-04"/><content type="application/xml">\
                <NotificationHubDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \
                xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><RegistrationTtl>P10675199DT2H48M5.4775807S\
                </RegistrationTtl><AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule">\
                <ClaimType>SharedAccessKey</ClaimType><ClaimValue>None</ClaimValue><Rights><AccessRights>Listen\
                </AccessRights></Rights><CreatedTime>2030-03-17T17:46:40Z</CreatedTime>\
                <ModifiedTime>2030-03-17T17:46:40Z</ModifiedTime><KeyName>DefaultListenSharedAccessSignature</KeyName>\
                <PrimaryKey>
                """
            #expect(made.body.hasPrefix(beginning), "\(made.body)")
            #expect(try await hub.manage("GET", "/orders?api-version=2017-04").body == made.body)

            let again = try await hub.manage("PUT", "/Orders?api-version=2017-04", TestHub.entry())
            #expect(again.status == 409)
            #expect(again.error?.detail.hasPrefix("SubCode=40900. Conflict.") == true)
            #expect(again.error?.code == 40900)

            hub.clock.advance(by: 60)
            let metadata = "<UserMetadata>for tests</UserMetadata>"
            let updated = try await hub.manage("PUT", "/ORDERS", headers: ["If-Match": "*"], TestHub.entry(metadata))
            #expect(updated.status == 200)
            #expect(updated.body.contains(metadata))
            #expect(updated.body.contains("<updated>2030-03-17T17:47:40Z</updated>"))
            #expect(updated.body.contains("<published>2030-03-17T17:46:40Z</published>"))
            #expect(updated.body.contains("<title type=\"text\">orders</title>"))

            let deleted = try await hub.manage("DELETE", "/orders?api-version=2017-04")
            #expect(deleted.status == 200 && deleted.body.isEmpty)
            let gone = try await hub.manage("DELETE", "/orders")
            #expect(gone.status == 404)
            #expect(gone.error?.detail == "No service is hosted at the specified address.")
            #expect(try await hub.manage("GET", "/orders").status == 404)
            #expect(try await hub.manage("PUT", "/orders", headers: ["If-Match": "*"], TestHub.entry()).status == 404)
        }
    }

    private static func head(_ status: Int, _ kind: String, publicPort: Int? = nil) -> String {
        let endpoint = publicPort.map { "newswire-public-endpoint: sb://localhost:\($0)/\n" } ?? ""
        return """
            \(status)
            content-length: {length}
            content-type: application/atom+xml; type=\(kind); charset=utf-8
            date: {date}
            \(endpoint)server: newswire
            trackingid: {guid}
            x-ms-correlation-request-id: {guid}


            """
    }

    private static func element(_ kind: String, _ properties: [(String, String)]) -> String {
        let written = properties.map { "<Property><Name>\($0)</Name><Value>\($1)</Value></Property>" }.joined()
        return "<\(kind)><Properties>\(written)</Properties></\(kind)>"
    }

    private static func browser(
        _ subject: String,
        _ shown: P256.Signing.PrivateKey,
        _ key: P256.Signing.PrivateKey
    ) -> [(String, String)] {
        [
            ("Subject", subject),
            ("VapidPublicKey", Base64URL.encode([UInt8](shown.publicKey.x963Representation))),
            ("VapidPrivateKey", Base64URL.encode([UInt8](key.rawRepresentation))),
        ]
    }

    private static func junk() throws -> [(problem: String, credential: String)] {
        let (vapid, other) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        let apple = [
            ("Token", EmulatedHub.apnsKey), ("KeyId", "ABCDEF1234"), ("AppId", "TEAM123456"), ("AppName", "a.b"),
        ]
        let google = [("ProjectId", "example"), ("ClientEmail", "a@example.iam.gserviceaccount.com")]
        return [
            ("PackageSid", element("WnsCredential", [("PackageSid", "S-1-15-2"), ("SecretKey", "s")])),
            ("PrivateKey", element("FcmV1Credential", google + [("PrivateKey", "k")])),
            ("PrivateKey", element("FcmV1Credential", google + [("PrivateKey", EmulatedHub.apnsKey)])),
            ("ApnsCertificate", element("ApnsCredential", [("ApnsCertificate", "MIIK"), ("CertificateKey", "p")])),
            ("Endpoint", element("ApnsCredential", apple + [("Endpoint", "https://push.example.org")])),
            ("Subject", element("BrowserCredential", browser("mailto:ops@localhost", vapid, vapid))),
            ("VapidPublicKey", element("BrowserCredential", browser("mailto:ops@example.org", vapid, other))),
        ]
    }

    @Test func `a credential that cannot work is refused`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.pushServices = PushServiceDirectory()
        } _: { hub async throws in
            let (path, match) = ("/news?api-version=2017-04", ["If-Match": "*"])
            for (problem, credential) in try Self.junk() {
                for (target, headers) in [("/orders?api-version=2017-04", [:]), (path, match)] {
                    let reply = try await hub.manage("PUT", target, headers: headers, TestHub.entry(credential))
                    #expect(reply.status == 400 && reply.body.contains("cannot be used: \(problem)"), "\(reply.body)")
                }
            }
            #expect(try await hub.manage("GET", "/orders").status == 404)
        }
    }

    /// Credentials that cannot work, and a change to each that does not help.
    private static func stored() -> [(kind: String, properties: [(String, String)], other: [(String, String)])] {
        let (vapid, other) = (P256.Signing.PrivateKey(), P256.Signing.PrivateKey())
        return [
            ("WnsCredential", [("PackageSid", "S-1-15-2"), ("SecretKey", "s")], [("SecretKey", "other")]),
            (
                "BrowserCredential", browser("mailto:ops@localhost", vapid, vapid),
                browser("mailto:ops@localhost", other, other)
            ),
        ]
    }

    @Test(arguments: [0, 1])
    func `a credential that cannot work and is stored already does not refuse changes of others`(
        index: Int
    ) async throws {
        try await TestHub.run(try Scratch()) {
            $0.pushServices = PushServiceDirectory()
        } _: { hub async throws in
            let (path, match) = ("/news?api-version=2017-04", ["If-Match": "*"])
            let (kind, properties, changed) = Self.stored()[index]
            // As an earlier version has stored it.
            let stored = PlatformCredential(
                .init(element: kind),
                properties.map { .init(name: $0.0, value: $0.1) }
            )
            let news = hub.hub
            try await news.perform { transaction, _ in
                guard var kept = try transaction.hub(id: news.record.id) else { throw ProtocolError.noService }
                kept.description.credentials = [stored]
                try transaction.update(kept)
                return ((), [PolicyEffect(kept.policy)])
            }
            let read = try await hub.manage("GET", path).body
            #expect(read.contains(kind) && read.contains(properties[0].1) && !read.contains("<UserMetadata>"))
            for metadata in ["", "<UserMetadata>m</UserMetadata>"] {
                let end = "</NotificationHubDescription>"
                let body = read.replacing(end, with: metadata + end)
                let reply = try await hub.manage("PUT", path, headers: match, body)
                #expect(reply.status == 200, "\(reply.body)")
                #expect(try await hub.manage("GET", path).body.contains("<UserMetadata>") == !metadata.isEmpty)
            }
            let other = TestHub.entry(Self.element(kind, changed))
            #expect(try await hub.manage("PUT", path, headers: match, other).status == 400)
            let none = TestHub.entry("<\(kind)><Properties/></\(kind)>")
            #expect(try await hub.manage("PUT", path, headers: match, none).status == 200)
            #expect(try await hub.manage("GET", path).body.contains(kind) == false)
        }
    }

    @Test func `a hub with keys and credentials of its owner is answered whole`() async throws {
        // Any credential can be used here.
        try await TestHub.run(try Scratch()) {
            $0.pushServices = ScriptedPushService { _ in .accepted(id: nil) }
        } _: { hub async throws in
            let credential = Self.element
            let token = [
                ("Token", "MIGT"), ("KeyId", "K"), ("AppName", "a.b"), ("AppId", "T"), ("Endpoint", "https://a"),
            ]
            let certificate = [("ApnsCertificate", "MIIK"), ("CertificateKey", "p"), ("Endpoint", "gateway")]
            let wns = credential("WnsCredential", [("PackageSid", "ms-app://s"), ("SecretKey", "s&amp;")])
            let fcm = credential("FcmV1Credential", [("ProjectId", "p"), ("PrivateKey", "k"), ("ClientEmail", "a@b")])
            let rules =
                TestHub.rule(AccessRule.defaultListenName, ["Listen"], primary: "A+/=", secondary: "B")
                + TestHub.rule(AccessRule.defaultFullName, ["Send", "Manage", "Listen"], primary: "C", secondary: "D")
            let head = """
                <ClaimType>SharedAccessKey</ClaimType><ClaimValue>None</ClaimValue><Rights><AccessRights>Listen</AccessRights>
                """
            func rule(_ name: String, _ rights: String, _ keys: (String, String)) -> String {
                """
                <AuthorizationRule i:type="SharedAccessAuthorizationRule">\(head)\(rights)</Rights>\
                <CreatedTime>2030-03-17T17:46:40Z</CreatedTime><ModifiedTime>2030-03-17T17:46:40Z</ModifiedTime>\
                <KeyName>\(name)</KeyName><PrimaryKey>\(keys.0)</PrimaryKey><SecondaryKey>\(keys.1)</SecondaryKey>\
                </AuthorizationRule>
                """
            }
            func entry(_ apns: [(String, String)], updated: String) -> String {
                """
                <entry xmlns="http://www.w3.org/2005/Atom"><id>https://h/orders?api-version=2017-04</id>\
                <title type="text">orders</title><published>2030-03-17T17:46:40Z</published>\
                <updated>\(updated)</updated><author><name>h</name></author>\
                <link rel="self" href="https://h/orders?api-version=2017-04"/><content type="application/xml">\
                <NotificationHubDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \
                xmlns:i="http://www.w3.org/2001/XMLSchema-instance">\(credential("ApnsCredential", apns))\
                <RegistrationTtl>P90D</RegistrationTtl>\(wns)<AuthorizationRules>\
                \(rule("DefaultListenSharedAccessSignature", "", ("A+/=", "B")))\
                \(rule(
                    "DefaultFullSharedAccessSignature",
                    "<AccessRights>Manage</AccessRights><AccessRights>Send</AccessRights>",
                    ("C", "D")
                ))\
                </AuthorizationRules><UserMetadata>for tests</UserMetadata>\(fcm)</NotificationHubDescription>\
                </content></entry>
                """
            }
            let sent = TestHub.entry(
                """
                \(fcm)\(wns)\(credential("ApnsCredential", token))<RegistrationTtl>P90D</RegistrationTtl>\
                <UserMetadata>for tests</UserMetadata><AuthorizationRules>\(rules)</AuthorizationRules>
                """
            )
            let path = "/orders?api-version=2017-04"
            let made = entry(token, updated: "2030-03-17T17:46:40Z")
            #expect(
                try await hub.manage("PUT", path, sent).whole == Self.head(201, "entry", publicPort: hub.port) + made
            )
            #expect(try await hub.manage("GET", path).whole == Self.head(200, "entry") + made)
            hub.clock.advance(by: 60)
            let change = TestHub.entry(credential("ApnsCredential", certificate))
            let match = ["If-Match": "*"]
            let updated = Self.head(200, "entry") + entry(certificate, updated: "2030-03-17T17:47:40Z")
            #expect(try await hub.manage("PUT", path, headers: match, change).whole == updated)
            #expect(try await hub.manage("GET", path).whole == updated)
        }
    }

    @Test func `the list of a namespace is answered whole`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            _ = try await hub.make("a")
            func entry(_ name: String) -> String {
                """
                <entry><id>https://h/\(name)</id><title type="text">\(name)</title>\
                <updated>2030-03-17T17:46:40Z</updated><link rel="alternate" href="http://h/\(name)"/></entry>
                """
            }
            #expect(
                try await hub.manage("GET", "/").whole == Self.head(200, "feed") + """
                    <feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Publicly Listed Services</title>\
                    <subtitle type="text">This is the list of publicly-listed services currently available.</subtitle>\
                    <id>https://h/</id><updated>2030-03-17T17:46:40Z</updated><generator>Service Bus 1.1</generator>\
                    \(entry("news"))\(entry("a"))</feed>
                    """
            )
        }
    }

    @Test func `hubs are listed as Java and dotNET ask for them`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for name in ["a", "b"] { _ = try await hub.make(name) }
            let java = "/$Resources/NotificationHubs/?api-version=2014-09&$skip=0&$top=2147483647"
            let feed = try await hub.manage("GET", java)
            #expect(feed.status == 200)
            #expect(feed.headers["content-type"] == "application/atom+xml; type=feed; charset=utf-8")
            #expect(
                feed.body.hasPrefix(
                    """
                    <feed xmlns="http://www.w3.org/2005/Atom"><title type="text">NotificationHubs</title>\
                    <id>https://h/$Resources/NotificationHubs/?api-version=2014-09&amp;$skip=0&amp;$top=2147483647</id>
                    """
                ),
                "\(feed.body)"
            )
            func titles(_ reply: Reply) -> [Substring] {
                reply.body.components(separatedBy: "<title type=\"text\">").dropFirst(2).map { $0.prefix { $0 != "<" } }
            }
            #expect(titles(feed) == ["news", "a", "b"])
            let entry = try await hub.manage("GET", "/a?api-version=2014-09").body
            #expect(feed.body.contains(entry), "the list has full entries")
            #expect(titles(try await hub.manage("GET", "/%24resources/notificationhubs?%24skip=1&%24top=1")) == ["a"])
            #expect(titles(try await hub.manage("GET", "/$Resources/NotificationHubs?$skip=9")) == [])
            #expect(try await hub.manage("GET", "/$Resources/NotificationHubs?$skip=x").status == 400)

            let list = try await hub.manage("GET", "/")
            #expect(list.headers["content-type"] == "application/atom+xml; type=feed; charset=utf-8")
            #expect(list.body.contains("<title type=\"text\">Publicly Listed Services</title>"))
            #expect(titles(list) == ["news", "a", "b"])
        }
    }

    @Test func `a hub's own Manage key reads and updates that hub, and does nothing else to hubs`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let other = try await hub.make("other")
            let update = TestHub.entry("<UserMetadata>x</UserMetadata>")
            let match = ["If-Match": "*"]
            #expect(try await hub.manage("GET", "/news", as: hub.full).status == 200)
            #expect(try await hub.manage("PUT", "/news", as: hub.full, headers: match, update).status == 200)
            #expect(try await hub.manage("PUT", "/news", as: hub.full, update).status == 409)
            let refused = [
                try await hub.manage("GET", "/news", as: hub.listen),
                try await hub.manage("PUT", "/news", as: hub.listen, headers: match, update),
            ]
            for reply in refused {
                #expect(reply.status == 401)
                #expect(reply.error?.detail == "Manage claim is required for this operation.")
            }
            let strange = [
                try await hub.manage("DELETE", "/news", as: hub.full),
                try await hub.manage("GET", "/other", as: hub.full),
                try await hub.manage("PUT", "/new", as: hub.full, update),
                try await hub.manage("GET", "/", as: hub.full),
                try await hub.manage("GET", "/$Resources/NotificationHubs", as: hub.full),
                try await hub.send("GET", "categories", at: other, as: hub.full),
            ]
            for reply in strange {
                #expect(reply.status == 401)
                #expect(reply.error?.detail.hasPrefix("InvalidSignature") == true, "\(reply.body)")
            }
            #expect(strange[3].error?.detail.contains("RootManageSharedAccessKey") == true, "\(strange[3].body)")
            #expect(try await hub.manage("GET", "/other", resource: "http://h/news").status == 401)
        }
    }

    @Test func `the namespace's rule may do everything at every hub`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let other = try await hub.make("other")
            for name in ["news", "other"] {
                let path = "/\(name)/categories"
                #expect(try await hub.manage("GET", path).status == 200)
                #expect(try await hub.manage("GET", path, resource: "http://h/\(name)").status == 200)
                #expect(
                    try await hub.manage("GET", path, as: .generated(name: hub.root.name, rights: [])).status == 401
                )
            }
            let agent = Agent("a")
            #expect(try await hub.send("PUT", "installations/a", at: other, as: hub.root, agent.json).status == 200)
            let stream = try await hub.stream(agent, at: other, as: hub.root)
            #expect(try await hub.post("x", at: other).status == 201)
            #expect(try await stream.message().title == "x")
        }
    }

    @Test func `a hub's rule of the same name does not lock the namespace out`() async throws {
        try await TestHub.run(try Scratch()) { hub async throws in
            let agent = Agent("a")
            let path = "installations/a"
            #expect(try await hub.send("PUT", path, as: hub.root, channel: agent.secret, agent.json).status == 200)
            let connection = try await Connection.open(hub.port)
            try await connection.send(hub.request("GET", "\(path)/stream", as: hub.root, channel: agent.secret))
            let stream = try await EventReader(connection)
            let rules = TestHub.rule(AccessRule.rootName, ["Listen"], primary: "mine", secondary: "mine2")
            let match = ["If-Match": "*"]
            let body = TestHub.entry("<AuthorizationRules>\(rules)</AuthorizationRules>")
            #expect(try await hub.manage("PUT", "/news", headers: match, body).status == 200)
            let own = AccessRule(name: AccessRule.rootName, primaryKey: "mine2", secondaryKey: "", rights: [])
            #expect(try await hub.manage("GET", "/news/categories", as: own).status == 200)
            #expect(try await hub.manage("GET", "/news", as: own).status == 401, "each key has its own rule's rights")
            #expect(try await hub.manage("GET", "/news/categories").status == 200)
            #expect(try await hub.manage("GET", "/news").status == 200)
            let message = #"{"title":"still open"}"#
            #expect(try await hub.send("POST", "messages", as: hub.root, message).status == 201)
            #expect(try await stream.message().title == "still open")
            let wrong = AccessRule(name: AccessRule.rootName, primaryKey: "other", secondaryKey: "", rights: [])
            #expect(try await hub.manage("GET", "/news", as: wrong).status == 401)
            #expect(try await hub.manage("DELETE", "/news").status == 200)
        }
    }

    @Test func `rules change at once, and streams of revoked keys end`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agents = [Agent("a"), Agent("b"), Agent("c")]
            for agent in agents { try await hub.register(agent) }
            let (first, second) = (try await hub.stream(agents[0]), try await hub.stream(agents[1]))
            let connection = try await Connection.open(hub.port)
            let headers = ["Authorization": hub.token(hub.listen, key: hub.listen.secondaryKey)]
            let path = "installations/c/stream"
            try await connection.send(
                hub.request("GET", path, as: nil, channel: agents[2].secret, headers: headers)
            )
            let third = try await EventReader(connection)
            let rules =
                TestHub.rule(hub.listen.name, ["Listen"], primary: "new", secondary: hub.listen.secondaryKey)
                + TestHub.rule("Senders", ["Send"], primary: "s")
            let body = TestHub.entry("<AuthorizationRules>\(rules)</AuthorizationRules>")
            #expect(try await hub.manage("PUT", "/news", headers: ["If-Match": "*"], body).status == 200)
            #expect(try await hub.send("GET", "categories", as: hub.listen).status == 401)
            #expect(try await hub.send("GET", "categories", as: hub.full).status == 401, "this rule is gone")
            let new = AccessRule(name: hub.listen.name, primaryKey: "new", secondaryKey: "", rights: [])
            #expect(try await hub.send("GET", "categories", as: new).status == 200)
            let senders = AccessRule(name: "Senders", primaryKey: "s", secondaryKey: "", rights: [])
            let message = #"{"title":"still there"}"#
            #expect(try await hub.send("POST", "messages", as: senders, message).status == 201)
            for stream in [first, second] {
                #expect(try await stream.named().name == "revoked")
                #expect(try await stream.next() == nil)
            }
            #expect(try await third.message().title == "still there", "its key has stayed")
        }
    }

    @Test func `a rule that another process writes is in force soon, but not over a newer one`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let before = hub.hub.status.rulesRevision
            let stale = hub.hub.status.rules
            let rules = TestHub.rule("Only", ["Listen", "Manage", "Send"], primary: "k", secondary: "k")
            let body = TestHub.entry("<AuthorizationRules>\(rules)</AuthorizationRules>")
            #expect(try await hub.manage("PUT", "/news", headers: ["If-Match": "*"], body).status == 200)
            hub.hub.writer.post(.rulesObserved(stale, revision: before), to: hub.hub.record.id)
            await hub.hub.writer.passInOrder()
            #expect(hub.hub.status.rules.hub.map(\.name) == ["Only"])

            let (id, written) = (hub.hub.record.id, AccessRule.generated(name: "Written", rights: .send))
            let root = AccessRule.generated(name: AccessRule.rootName, rights: [.listen, .manage, .send])
            _ = try await hub.hub.store.commit([
                { @Sendable in
                    try $0.put(written, hub: id, at: 1)
                    try $0.putNamespaceRule(root, at: 1)
                }
            ])
            try await hub.service.housekeeping.lookAtRules()
            await hub.hub.writer.passInOrder()
            #expect(hub.hub.status.rules.hub.map(\.name) == ["Only", "Written"])
            #expect(hub.root == root)
            #expect(try await hub.manage("GET", "/").status == 200)
            #expect(hub.hub.status.rules.namespace == [root])
        }
    }

    @Test func `a disabled hub takes nothing until it is enabled again`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let agent = Agent("a")
            try await hub.register(agent)
            let stream = try await hub.stream(agent)
            let match = ["If-Match": "*"]
            func set(_ status: Bool) async throws {
                let body = TestHub.entry("<Status>\(status)</Status>")
                #expect(try await hub.manage("PUT", "/news", headers: match, body).status == 200)
            }
            try await set(true)
            while try await stream.next() != nil {}
            for reply in [try await hub.post(), try await hub.put(Agent("b"))] {
                #expect(reply.status == 403)
                #expect(reply.error?.detail.contains("is disabled") == true)
            }
            let refused = await #expect(throws: EventReader.Refused.self) { try await hub.stream(agent) }
            #expect(refused?.reply.status == 503, "an agent comes back to it")
            #expect(try await hub.manage("GET", "/news").body.contains("<Status>true</Status>"))
            try await set(false)
            #expect(try await hub.post().status == 201)
        }
    }

    @Test func `registrations live as long as the hub's description says`() async throws {
        try await TestHub.run(try Scratch()) { hub async throws in
            #expect(hub.hub.status.registrationLifetime == nil)
            let body = TestHub.entry("<RegistrationTtl>P90D</RegistrationTtl>")
            #expect(try await hub.manage("PUT", "/news", headers: ["If-Match": "*"], body).status == 200)
            #expect(hub.hub.status.registrationLifetime == .seconds(90 * 86_400))
        }
    }

    @Test(arguments: [
        ("healthz", "reserved for the server itself"), ("API", "reserved for the server itself"),
        ("-a", "must begin with"), ("a%20b", "must begin with"), ("%24Resources", "reserved for the server itself"),
        (String(repeating: "a", count: 261), "longer than 260"),
    ])
    func `a name that no hub can have is refused`(name: String, says: String) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let reply = try await hub.manage("PUT", "/\(name)", TestHub.entry())
            // The server's own addresses know no PUT.
            let isOwn = ["healthz", "%24Resources"].contains(name)
            #expect(reply.status == 400 || (isOwn && reply.status == 404), "\(reply.body)")
            if reply.status == 400 { #expect(reply.error?.detail.contains(says) == true, "\(reply.body)") }
            #expect(hub.service.directory.all.count == 1)
        }
    }

    @Test func `a body that is too large or no description is refused`() async throws {
        try await TestHub.run(try Scratch()) { hub async throws in
            let large = TestHub.entry("<UserMetadata>\(String(repeating: "x", count: 300_000))</UserMetadata>")
            #expect(try await hub.manage("PUT", "/a", large).status == 413)
            #expect(try await hub.manage("PUT", "/a", "").status == 400)
            #expect(try await hub.manage("PUT", "/news", headers: ["If-Match": "*"], "<a/>").status == 400)
            #expect(try await hub.manage("GET", "/a").status == 404)
        }
    }

    @Test func `of many who make the same hub at once one succeeds`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<8 {
                    group.addTask { try await hub.manage("PUT", "/same", TestHub.entry()).status }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses.sorted() == [201] + Array(repeating: 409, count: 7))
        }
    }
}
