import Markup
import Testing

@testable import HubProtocol

@Suite struct NotificationHubDescriptionTests {
    /// 2020-07-02 18:03:10.772 UTC.
    static let time = Timestamp(milliseconds: 1_593_712_990_772)

    private static let listen = AccessRule(
        name: AccessRule.defaultListenName,
        primaryKey: "A+/=",
        secondaryKey: "B",
        rights: .listen
    )
    private static let full = AccessRule(
        name: AccessRule.defaultFullName,
        primaryKey: "C",
        secondaryKey: "D",
        rights: [.listen, .manage, .send]
    )

    static let hub = NotificationHubDescription(
        rules: [listen, full].map { AuthorizationRule($0, createdAt: time, modifiedAt: time) }
    )

    /// As recorded from the service (protocol §8), with other names and keys.
    static let hubXML = """
        <NotificationHubDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \
        xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><RegistrationTtl>P10675199DT2H48M5.4775807S</RegistrationTtl>\
        <AuthorizationRules><AuthorizationRule i:type="SharedAccessAuthorizationRule"><ClaimType>SharedAccessKey</ClaimType>\
        <ClaimValue>None</ClaimValue><Rights><AccessRights>Listen</AccessRights></Rights>\
        <CreatedTime>2020-07-02T18:03:10.772Z</CreatedTime><ModifiedTime>2020-07-02T18:03:10.772Z</ModifiedTime>\
        <KeyName>DefaultListenSharedAccessSignature</KeyName><PrimaryKey>A+/=</PrimaryKey><SecondaryKey>B</SecondaryKey>\
        </AuthorizationRule><AuthorizationRule i:type="SharedAccessAuthorizationRule"><ClaimType>SharedAccessKey</ClaimType>\
        <ClaimValue>None</ClaimValue><Rights><AccessRights>Listen</AccessRights><AccessRights>Manage</AccessRights>\
        <AccessRights>Send</AccessRights></Rights><CreatedTime>2020-07-02T18:03:10.772Z</CreatedTime>\
        <ModifiedTime>2020-07-02T18:03:10.772Z</ModifiedTime><KeyName>DefaultFullSharedAccessSignature</KeyName>\
        <PrimaryKey>C</PrimaryKey><SecondaryKey>D</SecondaryKey></AuthorizationRule></AuthorizationRules>\
        </NotificationHubDescription>
        """

    @Test func `a new hub is written as the service writes it`() {
        #expect(Self.hub.xml == Self.hubXML)
    }

    @Test func `an entry is one line with the description directly after its tag`() throws {
        let entry = Self.hub.entry(
            of: try HubName("news"),
            root: "https://ns1.servicebus.windows.net",
            query: "?api-version=2017-04&x",
            namespace: "ns1",
            createdAt: Self.time,
            updatedAt: Self.time + .seconds(1)
        )
        #expect(
            entry.xml == """
                <entry xmlns="http://www.w3.org/2005/Atom"><id>https://ns1.servicebus.windows.net/news?api-version=2017-04&amp;x</id>\
                <title type="text">news</title><published>2020-07-02T18:03:10Z</published><updated>2020-07-02T18:03:11Z</updated>\
                <author><name>ns1</name></author><link rel="self" \
                href="https://ns1.servicebus.windows.net/news?api-version=2017-04&amp;x"/><content type="application/xml">\
                \(Self.hubXML)</content></entry>
                """
        )
    }

    @Test func `both lists of hubs are written as the service writes them`() throws {
        let entry = Self.hub.entry(
            of: try HubName("news"),
            root: "https://h",
            query: "?api-version=2014-09",
            namespace: "h",
            createdAt: Self.time,
            updatedAt: Self.time
        )
        let address = "https://h/$Resources/NotificationHubs/?api-version=2014-09&$skip=0"
        let feed = ManagementFeed(
            title: "NotificationHubs",
            address: address,
            updatedAt: Self.time,
            entries: [entry, entry]
        )
        #expect(
            feed.xml == """
                <feed xmlns="http://www.w3.org/2005/Atom"><title type="text">NotificationHubs</title>\
                <id>https://h/$Resources/NotificationHubs/?api-version=2014-09&amp;$skip=0</id><updated>2020-07-02T18:03:10Z</updated>\
                <link rel="self" href="https://h/$Resources/NotificationHubs/?api-version=2014-09&amp;$skip=0"/>\
                \(entry.xml)\(entry.xml)</feed>
                """
        )
        let list = PublicServiceList(
            host: "h:8443",
            hubs: [try HubName("news"), try HubName("b.2")],
            at: Self.time
        )
        #expect(
            list.xml == """
                <feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Publicly Listed Services</title>\
                <subtitle type="text">This is the list of publicly-listed services currently available.</subtitle>\
                <id>https://h:8443/</id><updated>2020-07-02T18:03:10Z</updated>\
                <generator>Service Bus 1.1</generator><entry><id>https://h:8443/news</id>\
                <title type="text">news</title><updated>2020-07-02T18:03:10Z</updated>\
                <link rel="alternate" href="http://h:8443/news"/></entry><entry><id>https://h:8443/b.2</id>\
                <title type="text">b.2</title><updated>2020-07-02T18:03:10Z</updated>\
                <link rel="alternate" href="http://h:8443/b.2"/></entry></feed>
                """
        )
        #expect(PublicServiceList(host: "h", hubs: [], at: Self.time).xml.contains("<entry>") == false)
    }

    @Test func `every element has the place where dotNET looks for it`() throws {
        let kinds: [PlatformCredential.Kind] = [
            .browser, .fcmV1, .baidu, .adm, .mpns, .gcm, .wns, .apns, .init(element: "XiaomiCredential"),
        ]
        let hub = NotificationHubDescription(
            registrationTimeToLive: try RegistrationTimeToLive(parsing: "P90D"),
            credentials: kinds.map { PlatformCredential($0, [.init(name: "GoogleApiKey", value: "<v&>")]) },
            rules: Self.hub.rules,
            userMetadata: "a < b",
            isDisabled: true
        )
        let children = try ManagementDocument.description(named: "NotificationHubDescription", in: hub.xml.bytes)
            .children
        #expect(
            children.map(\.name) == [
                "ApnsCredential", "RegistrationTtl", "WnsCredential", "AuthorizationRules", "GcmCredential",
                "MpnsCredential", "UserMetadata", "AdmCredential", "BaiduCredential", "Status", "FcmV1Credential",
                "BrowserCredential", "XiaomiCredential",
            ]
        )
        #expect(
            hub.xml.contains(
                "<GcmCredential><Properties><Property><Name>GoogleApiKey</Name><Value>&lt;v&amp;&gt;</Value></Property></Properties></GcmCredential>"
            )
        )
        #expect(hub.xml.contains("<UserMetadata>a &lt; b</UserMetadata>"))
        #expect(hub.xml.contains("<Status>true</Status>"))
        #expect(!hub.xml.contains("\n"))
    }

    private static func xml(_ kind: String, _ properties: [(String, String)]) -> String {
        let written = properties.map { "<Property><Name>\($0)</Name><Value>\($1)</Value></Property>" }.joined()
        return "<\(kind)><Properties>\(written)</Properties></\(kind)>"
    }

    /// As the service names them (protocol §8), certificate and token for APNs.
    @Test(arguments: [
        [
            ("ApnsCertificate", "MIIK+/="), ("CertificateKey", "p&w"), ("Thumbprint", "0A"),
            ("Endpoint", "gateway.sandbox.push.apple.com"),
        ],
        [
            ("Token", "MIGT"), ("KeyId", "K1"), ("AppName", "org.example.app"), ("AppId", "T1"),
            ("Endpoint", "https://api.push.apple.com:443/3/device"),
        ],
    ])
    func `a hub with credentials of every platform is written whole`(apns: [(String, String)]) throws {
        let credentials: [(kind: String, properties: [(String, String)])] = [
            ("ApnsCredential", apns),
            (
                "WnsCredential",
                [
                    ("PackageSid", "ms-app://s-1"), ("SecretKey", "s"),
                    ("WindowsLiveEndpoint", "https://login.live.com/"),
                ]
            ),
            ("GcmCredential", [("GoogleApiKey", "g"), ("GcmEndpoint", "https://fcm.googleapis.com/fcm/send")]),
            ("MpnsCredential", [("MpnsCertificate", "m"), ("CertificateKey", "k")]),
            (
                "AdmCredential",
                [("ClientId", "c"), ("ClientSecret", "s"), ("AuthTokenUrl", "https://a"), ("SendUrlTemplate", "{0}")]
            ),
            (
                "BaiduCredential",
                [("BaiduApiKey", "a"), ("BaiduEndPoint", "https://api.tuisong.baidu.com/"), ("BaiduSecretKey", "s")]
            ),
            ("FcmV1Credential", [("ProjectId", "p"), ("PrivateKey", "-----BEGIN\nx"), ("ClientEmail", "a@b.example")]),
            (
                "BrowserCredential",
                [("Subject", "mailto:a@b.example"), ("VapidPublicKey", "BA"), ("VapidPrivateKey", "c")]
            ),
        ]
        let written = credentials.map { Self.xml($0.kind, $0.properties) }
        let rules = try #require(Self.hubXML.firstRange(of: "<AuthorizationRules>")).lowerBound
        let end = try #require(Self.hubXML.firstRange(of: "</NotificationHubDescription>")).lowerBound
        let expected = """
            <NotificationHubDescription xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \
            xmlns:i="http://www.w3.org/2001/XMLSchema-instance">\(written[0])<RegistrationTtl>P90D</RegistrationTtl>\
            \(written[1])\(Self.hubXML[rules..<end])\(written[2])\(written[3])<UserMetadata>for tests</UserMetadata>\
            \(written[4])\(written[5])<Status>false</Status>\(written[6])\(written[7])</NotificationHubDescription>
            """.replacing("p&w", with: "p&amp;w")
        var hub = try NotificationHubChange(xml: expected.bytes).applied(to: nil, at: Self.time)
        // Who sends a description back names no times.
        hub.rules = Self.hub.rules
        #expect(hub.xml == expected)
        #expect(hub.credentials.count == 8)
    }

    @Test(arguments: [
        ("P10675199DT2H48M5.4775807S", Int64.max, "P10675199DT2H48M5.4775807S"),
        ("P90D", 90 * 864_000_000_000, "P90D"), ("P1D", 864_000_000_000, "P1D"), ("PT24H", 864_000_000_000, "P1D"),
        ("P1DT2H3M4.5S", 937_845_000_000, "P1DT2H3M4.5S"), ("P1Y1M", 395 * 864_000_000_000, "P395D"),
        ("P1DT0.0000001S", 864_000_000_001, "P1DT0.0000001S"), ("P999999999999Y", .max, "P10675199DT2H48M5.4775807S"),
        ("PT1500M", 900_000_000_000, "P1DT1H"),
    ])
    func `times to live are read and written as dotNET does`(text: String, units: Int64, written: String) throws {
        let time = try RegistrationTimeToLive(parsing: text)
        #expect(time.units == units)
        #expect(time.text == written)
        #expect(try RegistrationTimeToLive(parsing: written) == time)
    }

    @Test func `a time to live is a duration, and none when it is unlimited`() throws {
        #expect(try RegistrationTimeToLive(parsing: "P1DT0.5S").duration == .seconds(86_400) + .milliseconds(500))
        #expect(RegistrationTimeToLive.unlimited.duration == nil)
        #expect(RegistrationTimeToLive(.seconds(90 * 86_400)).text == "P90D")
        #expect(RegistrationTimeToLive(.seconds(Int64.max)) == .unlimited)
    }

    @Test(arguments: [
        "", "P", "PT", "P1DT", "90D", "P90", "P1D2Y", "P1DT1S1M", "P1.5D", "P-1D", "-P1D", "P1DT1.S", "P1DT.5S",
        "P1DT1.2.3S",
        "P9999999999999D", "P１D", "P1W", " P1D", "P23H", "PT23H59M", "PT0S",
    ])
    func `a duration of less than a day, or an invalid one, is refused`(text: String) {
        #expect(throws: ProtocolError.self) { try RegistrationTimeToLive(parsing: text) }
    }
}
