import FoundationEssentials
import Testing

@testable import HubProtocol

/// What clients send, each in its own way.
///
/// Source: protocol §3.7.
@Suite struct RegistrationReaderTests {
    private typealias Texts = RegistrationTexts

    struct Sent: CustomTestStringConvertible, Sendable {
        let client: String
        let body: String
        /// What the hub answers: root, and elements behind the head.
        let root: String
        let rest: String

        var testDescription: String { client }
    }

    private static let atom = #"xmlns="http://www.w3.org/2005/Atom""#
    private static let sb = #"xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect""#
    private static let instance = #"xmlns:i="http://www.w3.org/2001/XMLSchema-instance""#

    static let sent = [
        Sent(
            client: ".NET, native",
            body: #"""
                <entry \#(atom)><content type="application/xml"><AppleRegistrationDescription \#(instance) \#(sb)>\#
                <RegistrationId i:nil="true" /><Tags>tag1,tag2</Tags><PushVariables>{"var1":"value1"}</PushVariables>\#
                <DeviceToken>62BCD348AA17</DeviceToken></AppleRegistrationDescription></content></entry>
                """#,
            root: "AppleRegistrationDescription",
            rest: #"<Tags>tag1,tag2</Tags><PushVariables>{"var1":"value1"}</PushVariables>"#
                + "<DeviceToken>62BCD348AA17</DeviceToken>"
        ),
        Sent(
            client: ".NET, template with nothing set",
            body: #"""
                <entry \#(atom)><content type="application/xml"><AppleTemplateRegistrationDescription \#(instance) \#(sb)>\#
                <RegistrationId i:nil="true" /><DeviceToken>62bc</DeviceToken><BodyTemplate><![CDATA[{"a":1}]]></BodyTemplate>\#
                <Expiry i:nil="true" /><TemplateName i:nil="true" /><ApnsHeaders />\#
                </AppleTemplateRegistrationDescription></content></entry>
                """#,
            root: "AppleTemplateRegistrationDescription",
            rest: #"<DeviceToken>62bc</DeviceToken><BodyTemplate><![CDATA[{"a":1}]]></BodyTemplate>"#
                + #"<Expiry i:nil="true"/><ApnsHeaders/>"#
        ),
        Sent(
            client: "Java, template without a name",
            body: #"""
                <?xml version="1.0" encoding="utf-8"?><entry \#(atom)><content type="application/xml">\#
                <FcmV1TemplateRegistrationDescription \#(instance) \#(sb)><Tags>a</Tags>\#
                <FcmV1RegistrationId>x:y</FcmV1RegistrationId><BodyTemplate><![CDATA[{"m":"$(n)"}]]></BodyTemplate>\#
                </FcmV1TemplateRegistrationDescription></content></entry>
                """#,
            root: "FcmV1TemplateRegistrationDescription",
            rest: "<Tags>a</Tags><FcmV1RegistrationId>x:y</FcmV1RegistrationId>"
                + #"<BodyTemplate><![CDATA[{"m":"$(n)"}]]></BodyTemplate>"#
        ),
        Sent(
            client: "JavaScript, Apple template: name first, then expiry and headers",
            body: #"""
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?><entry \#(atom)><content type="application/xml">\#
                <AppleTemplateRegistrationDescription \#(sb) \#(instance)><Tags>a</Tags><DeviceToken>62BC</DeviceToken>\#
                <BodyTemplate><![CDATA[{"aps":{"alert":"$(m)"}}]]></BodyTemplate><TemplateName>t</TemplateName>\#
                <Expiry>2030-01-01T00:00:00Z</Expiry><ApnsHeaders><ApnsHeader><Header>apns-priority</Header>\#
                <Value>5</Value></ApnsHeader></ApnsHeaders></AppleTemplateRegistrationDescription></content></entry>
                """#,
            root: "AppleTemplateRegistrationDescription",
            rest: #"<Tags>a</Tags><DeviceToken>62BC</DeviceToken><BodyTemplate><![CDATA[{"aps":{"alert":"$(m)"}}]]>"#
                + "</BodyTemplate><Expiry>2030-01-01T00:00:00Z</Expiry><TemplateName>t</TemplateName><ApnsHeaders>"
                + "<ApnsHeader><Header>apns-priority</Header><Value>5</Value></ApnsHeader></ApnsHeaders>"
        ),
        Sent(
            client: "a serialiser that writes empty elements",
            body: #"""
                <entry \#(atom)><content type="application/xml"><AppleTemplateRegistrationDescription \#(sb) \#(instance)>\#
                <Tags/><DeviceToken>62BC</DeviceToken><BodyTemplate><![CDATA[{"aps":{}}]]></BodyTemplate>\#
                <Expiry></Expiry></AppleTemplateRegistrationDescription></content></entry>
                """#,
            root: "AppleTemplateRegistrationDescription",
            rest: #"<DeviceToken>62BC</DeviceToken><BodyTemplate><![CDATA[{"aps":{}}]]></BodyTemplate>"#
                + #"<Expiry i:nil="true"/><ApnsHeaders/>"#
        ),
        Sent(
            client: "JavaScript, browser: auth before key",
            body: #"""
                <entry \#(atom)><content type="application/xml"><BrowserRegistrationDescription \#(sb) \#(instance)>\#
                <Tags/><Endpoint>https://push.example/x?a=1&amp;b</Endpoint><Auth>c2</Auth><P256DH>BAb</P256DH>\#
                </BrowserRegistrationDescription></content></entry>
                """#,
            root: "BrowserRegistrationDescription",
            rest: "<Endpoint>https://push.example/x?a=1&amp;b</Endpoint><P256DH>BAb</P256DH><Auth>c2</Auth>"
        ),
        Sent(
            client: "JavaScript, Baidu: channel before user",
            body: #"""
                <entry \#(atom)><content type="application/xml"><BaiduRegistrationDescription \#(sb) \#(instance)>\#
                <BaiduChannelId>2</BaiduChannelId><BaiduUserId>1</BaiduUserId></BaiduRegistrationDescription></content></entry>
                """#,
            root: "BaiduRegistrationDescription",
            rest: "<BaiduUserId>1</BaiduUserId><BaiduChannelId>2</BaiduChannelId>"
        ),
        Sent(
            client: "JavaScript, Windows template: headers last",
            body: #"""
                <entry \#(atom)><content type="application/xml"><WindowsTemplateRegistrationDescription \#(sb) \#(instance)>\#
                <ChannelUri>https://x.example/?token=a%2bb</ChannelUri><BodyTemplate><![CDATA[<tile/>]]></BodyTemplate>\#
                <TemplateName>t</TemplateName><WnsHeaders><WnsHeader><Header>X-WNS-Type</Header><Value>wns/tile</Value>\#
                </WnsHeader></WnsHeaders></WindowsTemplateRegistrationDescription></content></entry>
                """#,
            root: "WindowsTemplateRegistrationDescription",
            rest:
                "<ChannelUri>https://x.example/?token=a%2bb</ChannelUri><BodyTemplate><![CDATA[<tile/>]]></BodyTemplate>"
                + "<WnsHeaders><WnsHeader><Header>X-WNS-Type</Header><Value>wns/tile</Value></WnsHeader></WnsHeaders>"
                + "<TemplateName>t</TemplateName>"
        ),
        Sent(
            client: "azure-sb: the base type, its kind as an attribute",
            body: #"""
                <?xml version="1.0" encoding="utf-8" standalone="yes"?><entry \#(atom)><title/>\#
                <updated>2013-06-06T17:12:27.212Z</updated><author><name/></author><id/><content type="application/xml">\#
                <RegistrationDescription \#(instance) i:type="AppleTemplateRegistrationDescription" \#(sb)>\#
                <Tags>a,b</Tags><DeviceToken>62BC</DeviceToken><BodyTemplate><![CDATA[{"aps":{}}]]></BodyTemplate>\#
                <Expiry>0</Expiry></RegistrationDescription></content></entry>
                """#,
            root: "AppleTemplateRegistrationDescription",
            rest: #"<Tags>a,b</Tags><DeviceToken>62BC</DeviceToken><BodyTemplate><![CDATA[{"aps":{}}]]></BodyTemplate>"#
                + "<Expiry>0</Expiry><ApnsHeaders/>"
        ),
        Sent(
            client: "Android: what it was given, the template as plain text",
            body: #"""
                <entry \#(atom)><id>news/Registrations/1-2-3</id><updated>2018-11-07T00:18:37Z</updated>\#
                <content type="application/xml"><GcmTemplateRegistrationDescription \#(instance) \#(sb)><ETag>7</ETag>\#
                <ExpirationTime>2018-11-07T00:18:37.000Z</ExpirationTime><RegistrationId>1-2-3</RegistrationId>\#
                <Tags>a</Tags><GcmRegistrationId>g</GcmRegistrationId><BodyTemplate>{"a":"$(b) &amp; &lt;c"}</BodyTemplate>\#
                <TemplateName>t</TemplateName></GcmTemplateRegistrationDescription></content></entry>
                """#
                .replacing("$(b) &amp; &lt;c", with: "{$(b) + ' &amp; &lt;c'}"),
            root: "GcmTemplateRegistrationDescription",
            rest: "<Tags>a</Tags><GcmRegistrationId>g</GcmRegistrationId>"
                + #"<BodyTemplate><![CDATA[{"a":"{$(b) + ' & <c'}"}]]></BodyTemplate><TemplateName>t</TemplateName>"#
        ),
        Sent(
            client: "iOS: text/xml",
            body: #"""
                <entry \#(atom)><content type="text/xml"><AppleTemplateRegistrationDescription \#(instance) \#(sb)>\#
                <Tags>a,b</Tags><DeviceToken>62bc</DeviceToken><BodyTemplate><![CDATA[{"aps":{"alert":"$(m)"}}]]>\#
                </BodyTemplate><Expiry>$(expiry)</Expiry><Priority>10</Priority><TemplateName>t</TemplateName>\#
                </AppleTemplateRegistrationDescription></content></entry>
                """#,
            root: "AppleTemplateRegistrationDescription",
            rest: #"<Tags>a,b</Tags><DeviceToken>62bc</DeviceToken><BodyTemplate><![CDATA[{"aps":{"alert":"$(m)"}}]]>"#
                + "</BodyTemplate><Expiry>$(expiry)</Expiry><TemplateName>t</TemplateName><Priority>10</Priority><ApnsHeaders/>"
        ),
        Sent(
            client: "Go, PHP, Ruby: indented, blanks between tags",
            body: """
                <?xml version="1.0" encoding="utf-8"?>
                <entry \(atom)>
                    <content type="application/xml">
                        <GcmRegistrationDescription \(instance) \(sb)>
                            <Tags>myTag, myOtherTag ,MYTAG,</Tags>
                            <GcmRegistrationId>g</GcmRegistrationId>
                        </GcmRegistrationDescription>
                    </content>
                </entry>

                """,
            root: "GcmRegistrationDescription",
            rest: "<Tags>myTag,myOtherTag</Tags><GcmRegistrationId>g</GcmRegistrationId>"
        ),
        Sent(
            client: "the documentation: https in the namespace",
            body: #"""
                <entry \#(atom)><content type="application/xml"><AdmRegistrationDescription \#(instance) \#
                xmlns="https://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><Tags>myTag,myOtherTag</Tags>\#
                <RegistrationId>{Registration Id}</RegistrationId><AdmRegistrationId>a</AdmRegistrationId>\#
                </AdmRegistrationDescription></content></entry>
                """#,
            root: "AdmRegistrationDescription",
            rest: "<Tags>myTag,myOtherTag</Tags><AdmRegistrationId>a</AdmRegistrationId>"
        ),
        Sent(
            client: "any serializer: prefixes, comments, elements of others, a second element",
            body: #"""
                <!-- a --><a:entry xmlns:a="http://www.w3.org/2005/Atom" xmlns:s="urn:s" \#
                xmlns:b="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><s:x/><a:content><!-- b -->\#
                <b:RegistrationDescription xmlns:j="http://www.w3.org/2001/XMLSchema-instance" \#
                j:type="b:XiaomiRegistrationDescription">\#
                <b:Unknown><b:Tags>c</b:Tags></b:Unknown><b:Tags j:nil="1">d</b:Tags><b:PushVariables j:nil="false"/>\#
                <b:XiaomiRegistrationId>x<![CDATA[&]]>&#x79;</b:XiaomiRegistrationId></b:RegistrationDescription>\#
                <b:AdmRegistrationDescription/></a:content></a:entry>
                """#,
            root: "XiaomiRegistrationDescription",
            rest: "<XiaomiRegistrationId>x&amp;y</XiaomiRegistrationId>"
        ),
    ]

    @Test(arguments: sent)
    func `what a client sends is understood`(_ sent: Sent) throws {
        let registration = try Texts.read(sent.body)
        #expect(registration.written == Texts.description(sent.root, sent.rest))
        #expect(registration.etag == 0)
        #expect(registration.expirationTime == nil)
    }

    @Test func `a text may come in any encoding, whatever it says of itself`() throws {
        let body = Texts.entry(
            Texts.description("AdmRegistrationDescription", "<AdmRegistrationId>é新</AdmRegistrationId>")
        )
        let lie = "<?xml version=\"1.0\" encoding=\"utf-16\"?>" + body
        let wide = "<?xml version=\"1.0\" encoding=\"utf-8\"?>" + body
        let units = Array(wide.utf16).flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        let latin = "<?xml version=\"1.0\" encoding=\"iso-8859-1\"?>" + body.replacing("é新", with: "\u{E9}")
        for (bytes, handle) in [
            (lie.bytes, "é新"), ([0xEF, 0xBB, 0xBF] + body.bytes, "é新"), ([0xFF, 0xFE] + units, "é新"), (units, "é新"),
            (latin.unicodeScalars.map { UInt8($0.value) }, "é"),
        ] {
            let registration = try Registration(entry: bytes, id: RegistrationID(Texts.id))
            #expect(registration.pushChannel == .handle(handle))
        }
    }

    @Test(arguments: [
        ("", "400 the body is empty"),
        (" ", "400 the body is not well-formed XML"),
        ("not xml", "400 the body is not well-formed XML: line 1:"),
        ("PGVudHJ5Lz4=", "400 the body is not well-formed XML"),
        ("<entry", "400 the body is not well-formed XML"),
        (
            "<entry xmlns='http://www.w3.org/2005/Atom'>\n<content></entry>",
            "400 the body is not well-formed XML: line 2:"
        ),
        ("<entry>&nbsp;</entry>", "400 the body is not well-formed XML"),
        ("<entry i:nil='true'/>", "400 the body is not well-formed XML: line 1: namespace prefix i for nil"),
        ("<!DOCTYPE entry [<!ENTITY a 'b'>]><entry>&a;</entry>", "a document type declaration is not allowed"),
        ("<!DOCTYPE entry SYSTEM 'file:///etc/passwd'><entry/>", "a document type declaration is not allowed"),
        (
            "<feed/>",
            "400 the body's root is 'feed' in no namespace, not 'entry' in namespace 'http://www.w3.org/2005/Atom'"
        ),
        ("<entry xmlns='urn:x'/>", "'entry' in namespace 'urn:x', not 'entry'"),
        ("<entry xmlns='http://www.w3.org/2005/Atom'/>", "400 the entry has no 'content'"),
        ("<entry xmlns='http://www.w3.org/2005/Atom'><content> PEFwcGxl </content></entry>", "contains no element"),
        (
            "<entry xmlns='http://www.w3.org/2005/Atom'><content><AppleRegistrationDescription/></content></entry>",
            "'AppleRegistrationDescription' is in namespace 'http://www.w3.org/2005/Atom'; a registration's description is"
        ),
        (
            "<AppleRegistrationDescription\(RegistrationTexts.namespaces)/>",
            "the body's root is 'AppleRegistrationDescription' in namespace 'http://schemas"
        ),
    ])
    func `a body that is not an entry is refused with what was expected`(body: String, part: String) {
        let said = Texts.problems(body.bytes)
        #expect(said.hasPrefix("400 ") && said.contains(part), "\(said)")
    }

    @Test func `a kind that is not known is answered with all that are`() {
        let known =
            "known are AppleRegistrationDescription, WindowsRegistrationDescription, MpnsRegistrationDescription, "
            + "GcmRegistrationDescription, FcmRegistrationDescription, FcmV1RegistrationDescription, "
            + "AdmRegistrationDescription, BaiduRegistrationDescription, XiaomiRegistrationDescription, "
            + "BrowserRegistrationDescription, and each with 'Template' before 'RegistrationDescription'"
        #expect(
            Texts.problems("FaxRegistrationDescription", "")
                == "400 'FaxRegistrationDescription' is not a registration description; \(known)"
        )
        #expect(
            Texts.problems("RegistrationDescription", "")
                == "400 'RegistrationDescription' has no i:type that names its kind; \(known)"
        )
        let typed = "<RegistrationDescription i:type=\"x:FaxDescription\"\(Texts.namespaces)/>"
        #expect(
            Texts.problems(Texts.entry(typed).bytes)
                == "400 'FaxDescription' is not a registration description; \(known)"
        )
    }

    @Test func `a body above 64 KB is too large, and one of 64 KB is not`() {
        let start = Texts.entry(
            Texts.description("AdmRegistrationDescription", "<AdmRegistrationId>a</AdmRegistrationId>")
        )
        let full = start + String(repeating: " ", count: 65_536 - start.utf8.count)
        #expect(Texts.problems(full.bytes) == "")
        #expect(Texts.problems((full + " ").bytes) == "413 the body is larger than 65536 bytes")
    }

    @Test func `bytes of no encoding and hostile structures are refused in time`() {
        let deep = String(repeating: "<a>", count: 20_000)
        let wide = "<entry " + (0..<5_000).map { "a\($0)=''" }.joined(separator: " ") + "/>"
        let spaces = (0..<2_000).map { "<a xmlns:p\($0)='\($0)'>" }.joined()
        for body in [
            deep.bytes, wide.bytes, spaces.bytes, Array(repeating: 0xFF, count: 60_000),
            Array(repeating: 0, count: 60_000), Array(repeating: 0x3C, count: 60_000), [0xFE, 0xFF],
            [0xFF, 0xFE, 0x3C],
            [0x3C, 0xC3, 0x28, 0x3E],
        ] {
            #expect(Texts.problems(body).hasPrefix("400 "))
        }
    }

    @Test func `a line of a file is a description alone, with its id and its end`() throws {
        let line = Texts.description(
            "GcmRegistrationDescription",
            "<GcmRegistrationId>g</GcmRegistrationId>",
            head: "<ETag>5</ETag><ExpirationTime>2030-01-02T03:04:05.678Z</ExpirationTime>"
                + "<RegistrationId>1-2-3</RegistrationId>"
        )
        let registration = try Registration(description: line.bytes)
        #expect(registration.id.text == "1-2-3")
        #expect(registration.etag == 0)
        #expect(registration.written == line.replacing("<ETag>5", with: "<ETag>1"))

        let new = Texts.description("GcmRegistrationDescription", "<GcmRegistrationId>g</GcmRegistrationId>", head: "")
        let (first, second) = (try Registration(description: new.bytes), try Registration(description: new.bytes))
        #expect(first.id != second.id && first.expirationTime == nil)

        let wrong = line.replacing("1-2-3", with: "x").replacing("2030", with: "when")
        #expect { try Registration(description: wrong.bytes) } throws: { error in
            "\(error)".contains("'x' is not a registration id") && "\(error)".contains("ExpirationTime 'when-01")
        }
    }
}
