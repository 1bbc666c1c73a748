import Testing

@testable import HubProtocol

@Suite struct NotificationHubChangeTests {
    private static let service = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
    private static let now = Timestamp(milliseconds: 1_593_712_990_000)

    private static func entry(_ inner: String, namespace: String = service) -> [UInt8] {
        """
        <?xml version="1.0" encoding="utf-8"?><entry xmlns = "http://www.w3.org/2005/Atom"><content type = "application/xml">\
        <NotificationHubDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance" xmlns="\(namespace)">\(inner)\
        </NotificationHubDescription></content></entry>
        """.bytes
    }

    private static func credential(_ kind: String, _ properties: [(String, String)]) -> String {
        let written = properties.map { "<Property><Name>\($0)</Name><Value>\($1)</Value></Property>" }.joined()
        return "<\(kind)><Properties>\(written)</Properties></\(kind)>"
    }

    private static func rule(_ name: String, _ rights: [String], _ keys: String = "") -> String {
        """
        <AuthorizationRule i:type="SharedAccessAuthorizationRule"><ClaimType>SharedAccessKey</ClaimType><ClaimValue>None</ClaimValue>\
        <Rights>\(rights.map { "<AccessRights>\($0)</AccessRights>" }.joined())</Rights><KeyName>\(name)</KeyName>\(keys)\
        </AuthorizationRule>
        """
    }

    private static func changed(_ hub: NotificationHubDescription?, _ inner: String) throws
        -> NotificationHubDescription
    {
        try NotificationHubChange(xml: entry(inner)).applied(to: hub, at: now)
    }

    // MARK: Shapes that clients send

    @Test func `the shape of every client is read`() throws {
        let inner = """
            <BrowserCredential><Properties><Property><Value>p</Value><Name>VapidPrivateKey</Name></Property>\
            <Property><Name>VapidPublicKey</Name><Value>q</Value></Property><Property><Name>Subject</Name>\
            <Value>mailto:a@b</Value></Property></Properties></BrowserCredential><Unknown><Deep>x</Deep></Unknown>\
            <DailyMaxActiveDevices>1</DailyMaxActiveDevices><RegistrationTtl>P39D</RegistrationTtl>
            """
        let plain = Self.entry(inner)
        let prefixed = """
            <a:entry xmlns:a="http://www.w3.org/2005/Atom"><a:content type="application/xml">
              <s:NotificationHubDescription xmlns:s="\(Self.service)">
                <s:RegistrationTtl> P39D </s:RegistrationTtl>
                <s:BrowserCredential><s:BlockedOn>2020-01-01T00:00:00Z</s:BlockedOn><s:Properties>
                  <s:Property><s:Name>VapidPrivateKey</s:Name><s:Value>p</s:Value></s:Property>
                  <s:Property><s:Name>VapidPublicKey</s:Name><s:Value>q</s:Value></s:Property>
                  <s:Property><s:Name>Subject</s:Name><s:Value><![CDATA[mailto:a@b]]></s:Value></s:Property>
                </s:Properties></s:BrowserCredential>
              </s:NotificationHubDescription>
            </a:content></a:entry>
            """
        let titled = String(decoding: plain, as: UTF8.self).replacing("<content", with: "<title>news</title><content")
        let shapes: [(name: String, body: [UInt8])] = [
            (".NET and Java", plain),
            ("https namespace", Self.entry(inner, namespace: "https" + Self.service.dropFirst(4))),
            ("prefixes and white space", prefixed.bytes), ("title in the entry", titled.bytes),
            ("byte order mark", [0xEF, 0xBB, 0xBF] + plain),
            (
                "without an entry",
                "<NotificationHubDescription xmlns=\"\(Self.service)\">\(inner)</NotificationHubDescription>".bytes
            ),
        ]
        for shape in shapes {
            let hub = try NotificationHubChange(xml: shape.body).applied(to: nil, at: Self.now)
            #expect(hub.registrationTimeToLive.text == "P39D", "\(shape.name)")
            #expect(hub[.browser]?["vapidprivatekey"] == "p", "\(shape.name)")
            #expect(hub[.browser]?["Subject"] == "mailto:a@b", "\(shape.name)")
            #expect(hub.credentials.count == 1, "\(shape.name)")
        }
    }

    @Test func `a hub of an empty description has the two standard rules and all defaults`() throws {
        let hub = try Self.changed(nil, "")
        #expect(hub.rules.map(\.rule.name) == [AccessRule.defaultListenName, AccessRule.defaultFullName])
        #expect(hub.rules.map(\.rule.rights) == [.listen, [.listen, .manage, .send]])
        #expect(hub.rules.allSatisfy { $0.createdAt == Self.now && $0.modifiedAt == Self.now })
        #expect(Set(hub.rules.flatMap { [$0.rule.primaryKey, $0.rule.secondaryKey] }).count == 4)
        #expect(hub.registrationTimeToLive == .unlimited)
        #expect(hub.userMetadata == nil && hub.isDisabled == nil && hub.credentials.isEmpty)
    }

    @Test func `rules of a new hub come beside the standard ones, or in their place`() throws {
        let hub = try Self.changed(
            nil,
            "<AuthorizationRules>"
                + Self.rule(
                    "DefaultFullSharedAccessSignature",
                    ["Manage", "Send", "Listen"],
                    "<PrimaryKey>mine</PrimaryKey>"
                )
                + Self.rule("Senders", ["Send"]) + "</AuthorizationRules>"
        )
        #expect(hub.rules.map(\.rule.name) == [AccessRule.defaultListenName, AccessRule.defaultFullName, "Senders"])
        #expect(hub.rules[1].rule.primaryKey == "mine")
        #expect(hub.rules[1].rule.secondaryKey.utf8.count == 44)
        #expect(hub.rules[2].rule.rights == .send)
        #expect(hub.rules[2].rule.primaryKey.utf8.count == 44)
    }

    @Test func `a new hub has no more rules than can be sent back`() throws {
        func made(_ count: Int) throws -> NotificationHubDescription {
            try Self.changed(nil, Self.rules((0..<count).map { Self.rule("A\($0)", ["Send"]) }.joined()))
        }
        #expect(throws: ProtocolError.self) { try made(11) }
        let hub = try made(10)
        #expect(hub.rules.count == 12)
        #expect(try NotificationHubChange(xml: hub.xml.bytes).applied(to: hub, at: Self.now) == hub)
    }

    // MARK: Round trips

    @Test func `what a client reads, changes and sends back loses nothing`() throws {
        let made = try Self.changed(
            nil,
            Self.credential("WnsCredential", [("PackageSid", "ms-app://x"), ("SecretKey", "s &amp; t")])
                + Self.credential("GcmCredential", [("GoogleApiKey", "g"), ("GcmEndpoint", "https://e/")])
                + Self.credential("XiaomiCredential", [("AppSecret", "x")])
                + "<MpnsCredential><Properties></Properties></MpnsCredential><UserMetadata> kept  as it is </UserMetadata>"
                + "<RegistrationTtl>P90D</RegistrationTtl><Status>true</Status>"
        )
        #expect(made[.wns]?["SecretKey"] == "s & t")
        #expect(made[.mpns] != nil, "MPNS works without a certificate")
        #expect(made.userMetadata == " kept  as it is ")
        #expect(made.isDisabled == true)
        let again = try NotificationHubChange(xml: made.xml.bytes).applied(to: made, at: Self.now + .milliseconds(5))
        #expect(again == made)
    }

    @Test func `what is left out stays, as the Java client leaves out rules, metadata and times`() throws {
        let made = try Self.changed(
            nil,
            Self.credential("GcmCredential", [("GoogleApiKey", "g")])
                + "<UserMetadata>m</UserMetadata><RegistrationTtl>P90D</RegistrationTtl><Status>true</Status>"
        )
        let java = """
            <ApnsCredential><Properties><Property><Name>Endpoint</Name><Value>https://api.push.apple.com:443/3/device</Value>\
            </Property><Property><Name>ApnsCertificate</Name><Value>null</Value></Property><Property><Name>CertificateKey</Name>\
            <Value>null</Value></Property><Property><Name>Thumbprint</Name><Value>null</Value></Property><Property>\
            <Name>Token</Name><Value>t</Value></Property><Property><Name>KeyId</Name><Value>k</Value></Property><Property>\
            <Name>AppName</Name><Value>n</Value></Property><Property><Name>AppId</Name><Value>i</Value></Property></Properties>\
            </ApnsCredential>
            """
        let changed = try Self.changed(made, java)
        #expect(changed.rules == made.rules)
        #expect(changed[.gcm] == made[.gcm])
        #expect(changed.userMetadata == "m" && changed.registrationTimeToLive.text == "P90D")
        #expect(changed.isDisabled == true)
        #expect(changed[.apns]?.properties.map(\.name) == ["Endpoint", "Token", "KeyId", "AppName", "AppId"])
        let dotNET = try Self.changed(changed, "<AuthorizationRules/><Status>false</Status>")
        #expect(dotNET.rules == made.rules, ".NET sends an empty list when somebody looked at it")
        #expect(dotNET.isDisabled == false)
    }

    @Test func `a secret that is left out is kept, but not one of the other way to prove oneself`() throws {
        let made = try Self.changed(
            nil,
            Self.credential("ApnsCredential", [("Endpoint", "e"), ("ApnsCertificate", "c"), ("CertificateKey", "k")])
        )
        var hub = try Self.changed(made, Self.credential("ApnsCredential", [("Endpoint", "other")]))
        #expect(hub[.apns]?["Endpoint"] == "other")
        #expect(hub[.apns]?["ApnsCertificate"] == "c" && hub[.apns]?["CertificateKey"] == "k")
        hub = try Self.changed(hub, Self.credential("ApnsCredential", [("ApnsCertificate", "new")]))
        #expect(hub[.apns]?["ApnsCertificate"] == "new" && hub[.apns]?["CertificateKey"] == "k")
        hub = try Self.changed(hub, "<ApnsCredential/>")
        #expect(hub[.apns]?["ApnsCertificate"] == "new")
        #expect(try Self.changed(hub, "<ApnsCredential><Properties/></ApnsCredential>")[.apns] == nil)
        #expect(try Self.changed(hub, "<ApnsCredential><Properties> </Properties></ApnsCredential>")[.apns] == nil)
        let token = [("Token", "t"), ("KeyId", "i"), ("AppName", "n"), ("AppId", "a")]
        hub = try Self.changed(hub, Self.credential("ApnsCredential", token))
        #expect(hub[.apns]?.properties.map(\.name) == token.map(\.0))
        hub = try Self.changed(hub, #"<ApnsCredential i:nil="true"/>"#)
        #expect(hub[.apns] == nil)
    }

    /// Properties of newswire's own, beside those that SDKs know.
    private static let own: [(kind: String, known: [(String, String)], own: [(String, String)])] = [
        (
            "ApnsCredential", [("Token", "t"), ("KeyId", "k"), ("AppName", "n"), ("AppId", "a"), ("Endpoint", "e")],
            [("Topics", "x,y")]
        ),
        ("WnsCredential", [("SecretKey", " s\n")], [("TenantId", "t"), ("ClientId", "c")]),
        (
            "FcmV1Credential", [("ProjectId", "p"), ("PrivateKey", "k\n"), ("ClientEmail", "e")],
            [("PrivateKeyId", "i")]
        ),
        (
            "BrowserCredential", [("Subject", "s"), ("VapidPublicKey", "p"), ("VapidPrivateKey", "k")],
            [("Declarative", "true"), ("FormerVapidPrivateKeys", "f g")]
        ),
        ("BrowserCredential", [("Subject", "s"), ("VapidPublicKey", "p"), ("VapidPrivateKey", "k")], []),
    ]

    @Test(arguments: own.indices)
    func `descriptions have only properties that SDKs know, and a change by one keeps the others`(index: Int) throws {
        let (kind, known, own) = Self.own[index]
        let made = try Self.changed(nil, Self.credential(kind, known + own))
        let element = PlatformCredential.Kind(element: kind)
        for (name, value) in known + own { #expect(made[element]?[name] == value, "\(name)") }
        for (name, _) in own { #expect(!made.xml.contains("<Name>\(name)</Name>")) }
        let read = made.xml
        #expect(!read.contains("<Value></Value>") && !read.contains("<Value/>"))
        // An SDK reads it, disables the hub, and writes all of it back; Java's has trimmed the values.
        let end = "</NotificationHubDescription>"
        let trimmed = known.map { ($0.0, $0.1.filter { !$0.isWhitespace }) }
        for body in [
            read.replacing(end, with: "<Status>true</Status>\(end)").bytes,
            Self.entry(Self.credential(kind, trimmed) + "<Status>true</Status>"),
        ] {
            let change = try NotificationHubChange(xml: body)
            let written = try change.applied(to: made, at: Self.now)
            #expect(made.isDisabled == nil && written.isDisabled == true)
            for (name, value) in known + own { #expect(written[element]?[name] == value, "\(name)") }
            #expect(written[element]?.properties.count == known.count + own.count)
            #expect(change.newCredentials(besides: made.credentials).isEmpty)
        }
    }

    @Test func `an empty list of former keys, as an earlier version stored it, is not a change`() throws {
        var made = try Self.changed(nil, Self.credential("BrowserCredential", Self.own[4].known))
        let former = PlatformCredential.Property(name: PlatformCredential.formerVapidKeys, value: "")
        made.credentials = made.credentials.map { PlatformCredential($0.kind, $0.properties + [former]) }
        let change = try NotificationHubChange(xml: made.xml.bytes)
        #expect(change.newCredentials(besides: made.credentials).isEmpty)
        #expect(try change.applied(to: made, at: Self.now) == made)
    }

    @Test func `new values are stored as they are sent, with blanks at their ends`() throws {
        func fcm(_ key: String) -> String {
            let rest = [("ProjectId", "p"), ("ClientEmail", "e"), ("PrivateKeyId", "i")]
            return Self.credential("FcmV1Credential", [("PrivateKey", key)] + rest)
        }
        let first = try Self.changed(nil, fcm("\tk\n"))
        #expect(first[.fcmV1]?["PrivateKey"] == "\tk\n")
        #expect(try Self.changed(first, fcm(" other \n"))[.fcmV1]?["PrivateKey"] == " other \n")
        #expect(try Self.changed(first, fcm("k l"))[.fcmV1]?["PrivateKey"] == "k l")
        #expect(try Self.changed(first, fcm("k"))[.fcmV1]?["PrivateKey"] == "\tk\n")
    }

    @Test func `what belongs to a replaced key or app goes with it, and Amazon's ClientId stays visible`() throws {
        func wns(_ properties: [(String, String)]) -> String { Self.credential("WnsCredential", properties) }
        let entra = try Self.changed(nil, wns([("TenantId", "t"), ("ClientId", "c"), ("SecretKey", "s")]))
        let store = try Self.changed(entra, wns([("PackageSid", "ms-app://s"), ("SecretKey", "n")]))
        #expect(store[.wns]?.properties.map(\.name) == ["PackageSid", "SecretKey"])
        func fcm(_ properties: [(String, String)]) -> String {
            Self.credential("FcmV1Credential", properties + [("ProjectId", "p"), ("ClientEmail", "e")])
        }
        let first = try Self.changed(nil, fcm([("PrivateKey", "k"), ("PrivateKeyId", "i")]))
        #expect(try Self.changed(first, fcm([("PrivateKey", "other")]))[.fcmV1]?["PrivateKeyId"] == nil)
        let amazon = try Self.changed(
            nil,
            Self.credential("AdmCredential", [("ClientId", "c"), ("ClientSecret", "s")])
        )
        #expect(amazon.xml.contains("<Name>ClientId</Name>"))
    }

    @Test func `rules that are sent replace all, and keep the keys they leave out`() throws {
        let made = try Self.changed(nil, "<AuthorizationRules>\(Self.rule("Senders", ["Send"]))</AuthorizationRules>")
        let changed = try NotificationHubChange(
            xml: Self.entry(
                "<AuthorizationRules>"
                    + Self.rule("Senders", ["Send", "Listen"], "<SecondaryKey>mine</SecondaryKey>")
                    + Self.rule("DefaultListenSharedAccessSignature", ["Listen"]) + "</AuthorizationRules>"
            )
        ).applied(to: made, at: Self.now + .seconds(60))
        #expect(changed.rules.map(\.rule.name) == ["Senders", AccessRule.defaultListenName])
        let senders = changed.rules[0]
        #expect(senders.rule.rights == [.listen, .send])
        #expect(senders.rule.primaryKey == made.rules[2].rule.primaryKey)
        #expect(senders.rule.secondaryKey == "mine")
        #expect(senders.createdAt == Self.now && senders.modifiedAt == Self.now + .seconds(60))
        #expect(changed.rules[1] == made.rules[0], "nothing of it has changed, its time neither")
    }

    @Test func `metadata goes when it is sent empty or as nil`() throws {
        let made = try Self.changed(nil, "<UserMetadata>m</UserMetadata>")
        #expect(try Self.changed(made, "<UserMetadata/>").userMetadata == nil)
        #expect(try Self.changed(made, #"<UserMetadata i:nil="true"/>"#).userMetadata == nil)
    }

    // MARK: Refusals

    private static let refusals: [(body: String, says: String)] = [
        ("", "not well-formed"),
        ("<entry", "not well-formed"),
        ("<entry xmlns='http://www.w3.org/2005/Atom'><content/></entry>", "it contains nothing"),
        ("<entry xmlns='http://www.w3.org/2005/Atom'><content><Other/></content></entry>", "it contains 'Other'"),
        ("<NotificationHubDescription xmlns='urn:other'/>", "it contains"),
        (
            "<!DOCTYPE a [<!ENTITY b 'c'>]><NotificationHubDescription><UserMetadata>&b;</UserMetadata></NotificationHubDescription>",
            "document type"
        ),
        (
            "<NotificationHubDescription><UserMetadata>&b;</UserMetadata></NotificationHubDescription>",
            "not well-formed"
        ),
        (
            "<NotificationHubDescription>\(String(repeating: "<a>", count: 300))\(String(repeating: "</a>", count: 300))</NotificationHubDescription>",
            "deep"
        ),
        ("<NotificationHubDescription><RegistrationTtl>PT5M</RegistrationTtl></NotificationHubDescription>", "a day"),
        ("<NotificationHubDescription><RegistrationTtl>90</RegistrationTtl></NotificationHubDescription>", "P90D"),
        ("<NotificationHubDescription><Status>maybe</Status></NotificationHubDescription>", "'maybe'"),
        (
            "<NotificationHubDescription><UserMetadata>\(String(repeating: "x", count: 1_025))</UserMetadata></NotificationHubDescription>",
            "1024"
        ),
        (
            entryText(credential("GcmCredential", [("GoogleApiKey", "a"), ("googleapikey", "b")])), "twice"
        ),
        (entryText(credential("GcmCredential", [("GcmEndpoint", "https://e/")])), "lacks GoogleApiKey"),
        (entryText(credential("ApnsCredential", [("Token", "t"), ("KeyId", "k")])), "lacks AppName, AppId"),
        (
            entryText("<WnsCredential><Properties><Property><Value>v</Value></Property></Properties></WnsCredential>"),
            "has no Name"
        ),
        (
            entryText(String(repeating: "<GcmCredential><Properties/></GcmCredential>", count: 2)),
            "GcmCredential appears twice"
        ),
        (
            entryText((0..<17).map { credential("K\($0)Credential", []) }.joined()), "credentials of at most 16 kinds"
        ),
        (entryText(rules(rule("A", ["Manage"]))), "needs Send and Listen"),
        (entryText(rules(rule("A", []))), "no rights"),
        (entryText(rules(rule("A", ["Fly"]))), "'Fly'"),
        (entryText(rules(rule("A b", ["Send"]))), "cannot name a rule"),
        (entryText(rules(rule("", ["Send"]))), "no KeyName"),
        (entryText(rules(rule("A", ["Send"]) + rule("a", ["Send"]))), "same name"),
        (entryText(rules(rule("A", ["Send"], "<PrimaryKey>a;b</PrimaryKey>"))), "without ';'"),
        (entryText(rules((0..<13).map { rule("A\($0)", ["Send"]) }.joined())), "at most 12"),
        (entryText(rules(rule("A", ["Send"]).replacing("SharedAccessAuth", with: "Allow"))), "AlloworizationRule"),
    ]

    private static func entryText(_ inner: String) -> String { String(decoding: entry(inner), as: UTF8.self) }
    private static func rules(_ inner: String) -> String { "<AuthorizationRules>\(inner)</AuthorizationRules>" }

    @Test(arguments: refusals)
    func `what cannot be a hub is refused with the reason`(body: String, says: String) throws {
        let error = #expect(throws: ProtocolError.self) {
            try NotificationHubChange(xml: body.bytes).applied(to: nil, at: Self.now)
        }
        #expect(error?.status == 400)
        #expect(error?.detail.contains(says) == true, "\(error?.detail ?? "")")
        #expect(error?.detail.contains("a;b") != true, "a key is not quoted")
    }

    @Test func `a credential of a foreign namespace is passed over`() throws {
        let hub = try Self.changed(
            nil,
            #"<x:FooCredential xmlns:x="urn:x"/><BarCredential/><i:BazCredential/>"#
        )
        #expect(hub.credentials.map(\.kind.element) == ["BarCredential"])
        #expect(try NotificationHubChange(xml: hub.xml.bytes).applied(to: hub, at: Self.now) == hub)
    }

    @Test func `kinds of credentials do not add up without end, and may still change when there are many`() throws {
        let kinds = (0..<16).map { Self.credential("K\($0)Credential", [("a", "b")]) }.joined()
        let full = try Self.changed(nil, kinds)
        #expect(full.credentials.count == 16)
        let more = Self.credential("MoreCredential", [])
        let error = #expect(throws: ProtocolError.self) { try Self.changed(full, more) }
        #expect(error?.status == 400)
        #expect(try Self.changed(full, kinds) == full)
        let exchanged = try Self.changed(full, #"<K3Credential i:nil="true"/>"# + more)
        #expect(exchanged.credentials.map(\.kind.element).suffix(1) == ["MoreCredential"])
    }

    @Test func `metadata is counted as dotNET counts`() throws {
        let emoji = String(repeating: "😀", count: 512)
        #expect(try Self.changed(nil, "<UserMetadata>\(emoji)</UserMetadata>").userMetadata == emoji)
        #expect(throws: ProtocolError.self) { try Self.changed(nil, "<UserMetadata>\(emoji)x</UserMetadata>") }
    }

    @Test func `bytes that are not text are refused`() {
        #expect(throws: ProtocolError.self) { try NotificationHubChange(xml: [0x3C, 0xFF]) }
    }
}
