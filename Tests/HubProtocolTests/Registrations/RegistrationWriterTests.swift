import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct RegistrationWriterTests {
    private typealias Texts = RegistrationTexts

    static let body = "<BodyTemplate><![CDATA[{\"a\":\"$(b)\"}]]></BodyTemplate>"
    static let xmlBody = "<BodyTemplate><![CDATA[<toast><text id=\"1\">$(b)</text></toast>]]></BodyTemplate>"
    static let name = "<TemplateName>Template Name</TemplateName>"
    static let common = "<Tags>tag1</Tags><PushVariables>{\"var1\":\"value1\"}</PushVariables>"

    static func headers(_ platform: String, _ headers: [(String, String)]) -> String {
        let items = headers.map {
            "<\(platform)Header><Header>\($0)</Header><Value>\($1)</Value></\(platform)Header>"
        }
        return "<\(platform)Headers>\(items.joined())</\(platform)Headers>"
    }

    /// Every type of §3.7: the elements behind the head, in the order that the .NET SDK needs.
    static let descriptions: [(root: String, rest: String)] = [
        ("AppleRegistrationDescription", "\(common)<DeviceToken>62BCD348AA17</DeviceToken>"),
        ("GcmRegistrationDescription", "\(common)<GcmRegistrationId>a:b_c-1</GcmRegistrationId>"),
        ("FcmRegistrationDescription", "<FcmRegistrationId>a:b_c-1</FcmRegistrationId>"),
        ("FcmV1RegistrationDescription", "<FcmV1RegistrationId>a:b_c-1</FcmV1RegistrationId>"),
        (
            "WindowsRegistrationDescription",
            "<ChannelUri>https://x.example/?a=1&amp;b=2</ChannelUri><SecondaryTileName>Tile name</SecondaryTileName>"
        ),
        ("MpnsRegistrationDescription", "<ChannelUri>http://x.example/</ChannelUri>"),
        ("AdmRegistrationDescription", "<AdmRegistrationId>amzn1.adm</AdmRegistrationId>"),
        ("BaiduRegistrationDescription", "<BaiduUserId>u1</BaiduUserId><BaiduChannelId>c-2</BaiduChannelId>"),
        (
            "BrowserRegistrationDescription",
            "<Endpoint>https://push.example/x</Endpoint><P256DH>BAb-_</P256DH><Auth>c2</Auth>"
        ),
        ("XiaomiRegistrationDescription", "<XiaomiRegistrationId>x1</XiaomiRegistrationId>"),
        (
            "AppleTemplateRegistrationDescription",
            "\(common)<DeviceToken>62BCD348AA17</DeviceToken>\(body)<Expiry i:nil=\"true\"/>\(name)<ApnsHeaders/>"
        ),
        (
            "AppleTemplateRegistrationDescription",
            "<DeviceToken>62BCD348AA17</DeviceToken>\(body)<Expiry>$(expiry)</Expiry>\(name)<Priority>5</Priority>"
                + headers("Apns", [("apns-priority", "10"), ("Apns-Topic", "$(topic)")])
        ),
        ("GcmTemplateRegistrationDescription", "<GcmRegistrationId>a</GcmRegistrationId>\(body)\(name)"),
        ("FcmTemplateRegistrationDescription", "<FcmRegistrationId>a</FcmRegistrationId>\(body)\(name)"),
        ("FcmV1TemplateRegistrationDescription", "<FcmV1RegistrationId>a</FcmV1RegistrationId>\(body)\(name)"),
        (
            "WindowsTemplateRegistrationDescription",
            "\(common)<ChannelUri>https://x.example/</ChannelUri><SecondaryTileName>Tile</SecondaryTileName>\(xmlBody)"
                + headers("Wns", [("X-WNS-Tag", "t"), ("X-WNS-Type", "wns/toast")]) + name
        ),
        (
            "MpnsTemplateRegistrationDescription",
            "<ChannelUri>https://x.example/</ChannelUri>\(xmlBody)"
                + headers("Mpns", [("X-NotificationClass", "2"), ("X-WindowsPhone-Target", "toast")]) + name
        ),
        ("MpnsTemplateRegistrationDescription", "<ChannelUri>https://x.example/</ChannelUri>\(xmlBody)<MpnsHeaders/>"),
        ("AdmTemplateRegistrationDescription", "<AdmRegistrationId>a</AdmRegistrationId>\(body)\(name)"),
        (
            "BaiduTemplateRegistrationDescription",
            "<BaiduUserId>u</BaiduUserId><BaiduChannelId>c</BaiduChannelId>\(body)\(name)<MessageType>1</MessageType>"
        ),
        (
            "BrowserTemplateRegistrationDescription",
            "<Endpoint>https://push.example/x</Endpoint><P256DH>BAb</P256DH><Auth>c2</Auth>\(body)\(name)"
        ),
        ("XiaomiTemplateRegistrationDescription", "<XiaomiRegistrationId>x</XiaomiRegistrationId>\(body)"),
    ]

    @Test(arguments: descriptions)
    func `each type goes back as it came, element by element`(root: String, rest: String) throws {
        let text = Texts.description(root, rest)
        #expect(try Texts.read(Texts.entry(text)).written == text)
    }

    @Test func `no type is without a row above`() {
        let roots = Set(Self.descriptions.map(\.root))
        for type in RegistrationType.all { #expect(roots.isSuperset(of: [type.nativeRoot, type.templateRoot])) }
    }

    @Test func `an entry is the service's, byte for byte`() throws {
        let registration = try Texts.read(
            "AppleTemplateRegistrationDescription",
            "<Tags>tag1</Tags><PushVariables>{\"var1\":\"value1\"}</PushVariables><DeviceToken>62BCD348AA17</DeviceToken>"
                + "<BodyTemplate><![CDATA[{\"aps\":{\"alert\":\"alert!\"}}]]></BodyTemplate>"
                + "<TemplateName>Template Name</TemplateName>"
        )
        var stored = registration
        stored.etag = 2
        let address = RequestAddress(
            origin: "https://hub.example:8443",
            path: "/news/registrations/",
            query: "api-version=2017-04"
        )
        let date = Date(timeIntervalSince1970: 1_541_549_917.9)
        let entry = stored.entry(at: address.item(stored.id), date: date)
        #expect(
            String(decoding: entry, as: UTF8.self) == #"""
                <entry a:etag="W/&quot;2&quot;" xmlns="http://www.w3.org/2005/Atom" \#
                xmlns:a="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">\#
                <id>https://hub.example:8443/news/registrations/4497227228776861650-7267172778370643468-3\#
                ?api-version=2017-04</id><title type="text">4497227228776861650-7267172778370643468-3</title>\#
                <published>2018-11-07T00:18:37Z</published><updated>2018-11-07T00:18:37Z</updated>\#
                <link rel="self" href="https://hub.example:8443/news/registrations/\#
                4497227228776861650-7267172778370643468-3?api-version=2017-04"/><content type="application/xml">\#
                <AppleTemplateRegistrationDescription \#
                xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \#
                xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><ETag>2</ETag>\#
                <ExpirationTime>9999-12-31T23:59:59.999Z</ExpirationTime>\#
                <RegistrationId>4497227228776861650-7267172778370643468-3</RegistrationId><Tags>tag1</Tags>\#
                <PushVariables>{"var1":"value1"}</PushVariables><DeviceToken>62BCD348AA17</DeviceToken>\#
                <BodyTemplate><![CDATA[{"aps":{"alert":"alert!"}}]]></BodyTemplate><Expiry i:nil="true"/>\#
                <TemplateName>Template Name</TemplateName><ApnsHeaders/></AppleTemplateRegistrationDescription>\#
                </content></entry>
                """#
        )
        #expect(stored.entityTag == "W/\"2\"")
    }

    @Test(arguments: [
        ("]]>", "<![CDATA[]]]]><![CDATA[>]]>"),
        ("a]]]>b]]>", "<![CDATA[a]]]]]><![CDATA[>b]]]]><![CDATA[>]]>"),
        ("]] >]>&<", "<![CDATA[]] >]>&<]]>"),
        ("\u{FFFF}\u{1}é\u{FEFF}", "<![CDATA[\u{FFFD}\u{FFFD}é\u{FEFF}]]>"),
    ])
    func `a template with the end of a section in it is split`(body: String, text: String) {
        var output = XMLOutput()
        output.cdata(body)
        #expect(String(decoding: output.bytes, as: UTF8.self) == text)
    }

    @Test func `what splits a section is read back whole`() throws {
        let body = "{\"a\":\"x]]>y]]]>\"}"
        var output = XMLOutput()
        output.element("BodyTemplate") { $0.cdata(body) }
        let section = String(decoding: output.bytes, as: UTF8.self)
        let registration = try Texts.read(
            "GcmTemplateRegistrationDescription",
            "<GcmRegistrationId>a</GcmRegistrationId>\(section)"
        )
        #expect(registration.template?.body == body)
        #expect(registration.written.contains(section))
    }

    @Test(arguments: [
        ("a<b>&\"'é新\u{10FFFF}", "a&lt;b&gt;&amp;\"'é新\u{10FFFF}", "a&lt;b&gt;&amp;&quot;'é新\u{10FFFF}"),
        ("\t\r\n", "\t&#13;\n", "&#9;&#13;&#10;"),
        ("\u{0}\u{1F}\u{FFFE}\u{FFFF}\u{FFFD}\u{FEFF}", "\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}\u{FEFF}", nil),
        ("", "", ""),
    ])
    func `text and attributes are escaped`(text: String, inText: String, inAttribute: String?) {
        var output = XMLOutput()
        output.text(text)
        #expect(String(decoding: output.bytes, as: UTF8.self) == inText)
        output = XMLOutput()
        output.attribute(text)
        #expect(String(decoding: output.bytes, as: UTF8.self) == inAttribute ?? inText)
    }

    @Test func `an expiration time has the three digits that Android's SDK cuts by`() throws {
        var registration = try Texts.read("GcmRegistrationDescription", "<GcmRegistrationId>a</GcmRegistrationId>")
        for (seconds, text) in [
            (1_541_549_917.0, "2018-11-07T00:18:37.000Z"), (1_541_549_917.25, "2018-11-07T00:18:37.250Z"),
        ] {
            registration.expirationTime = Date(timeIntervalSince1970: seconds)
            #expect(registration.written.contains("<ExpirationTime>\(text)</ExpirationTime>"))
        }
    }

    @Test func `what an installation has for a channel is written as far as it goes`() throws {
        var registration = Registration(id: try RegistrationID("1-2-3"), platform: .baidu, pushChannel: .handle("u"))
        #expect(registration.written.contains("<BaiduUserId>u</BaiduUserId><BaiduChannelId></BaiduChannelId>"))
        registration.platform = Platform(rawValue: "FCMV1")
        #expect(registration.written.contains("<FcmV1RegistrationId>u</FcmV1RegistrationId></FcmV1Registration"))
        registration.platform = .stream
        #expect(registration.written.hasSuffix("<RegistrationId>1-2-3</RegistrationId></RegistrationDescription>"))
    }
}
