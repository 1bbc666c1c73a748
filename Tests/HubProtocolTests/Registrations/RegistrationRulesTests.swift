import FoundationEssentials
import Testing

@testable import HubProtocol

/// The limits of protocol §3.8.
@Suite struct RegistrationRulesTests {
    private typealias Texts = RegistrationTexts

    private static let gcm = "<GcmRegistrationId>g</GcmRegistrationId>"
    private static let apple = "<DeviceToken>62BC</DeviceToken><BodyTemplate>{}</BodyTemplate>"
    private static let windows = "<ChannelUri>https://x.example</ChannelUri>"

    private static func header(_ platform: String, _ name: String, _ value: String) -> String {
        "<\(platform)Headers><\(platform)Header><Header>\(name)</Header><Value>\(value)</Value></\(platform)Header>"
            + "</\(platform)Headers>"
    }

    @Test(arguments: [
        ("AppleRegistrationDescription", "", "DeviceToken is missing"),
        ("AppleRegistrationDescription", "<DeviceToken i:nil=\"true\"/>", "DeviceToken is missing"),
        ("AppleRegistrationDescription", "<DeviceToken/>", "DeviceToken is empty"),
        (
            "AppleRegistrationDescription", "<DeviceToken>62B</DeviceToken>",
            "DeviceToken is not an even number of hexadecimal digits"
        ),
        (
            "AppleRegistrationDescription", "<DeviceToken> 62BC</DeviceToken>",
            "DeviceToken is not an even number of hexadecimal digits"
        ),
        ("AppleRegistrationDescription", "<DeviceToken><a/></DeviceToken>", "DeviceToken contains an element"),
        (
            "AppleRegistrationDescription", "<DeviceToken>62BC</DeviceToken><DeviceToken>62BD</DeviceToken>",
            "DeviceToken appears twice"
        ),
        (
            "AppleRegistrationDescription", "<DeviceToken xmlns=\"urn:x\">62BC</DeviceToken>",
            "DeviceToken is in namespace 'urn:x', not in 'http://schemas"
        ),
        (
            "WindowsRegistrationDescription", "<ChannelUri>/relative</ChannelUri>",
            "ChannelUri is not an absolute URI"
        ),
        (
            "GcmRegistrationDescription", "<GcmRegistrationId>a b</GcmRegistrationId>",
            "GcmRegistrationId contains a space or a control character"
        ),
        (
            "FcmRegistrationDescription", "<GcmRegistrationId>a</GcmRegistrationId>", "FcmRegistrationId is missing"
        ),
        (
            "BaiduRegistrationDescription", "<BaiduUserId>a-b</BaiduUserId><BaiduChannelId/>",
            "BaiduUserId contains '-', which separates it from BaiduChannelId in a handle; BaiduChannelId is empty"
        ),
        (
            "BrowserRegistrationDescription", "<Endpoint>http://x</Endpoint><P256DH>a</P256DH><Auth>b</Auth>",
            "Endpoint-P256DH-Auth has no https 'endpoint'"
        ),
        ("BrowserRegistrationDescription", "<Endpoint>https://x</Endpoint>", "P256DH is missing; Auth is missing"),
        ("GcmRegistrationDescription", "<Tags>a b</Tags>\(gcm)", "tag 'a b' contains a space"),
        ("GcmRegistrationDescription", "<Tags>$x</Tags>\(gcm)", "tag '$x' begins with '$'"),
        (
            "GcmRegistrationDescription", "<Tags>$UserId:{a},$userid:{b}</Tags>\(gcm)",
            "Tags contain more than one $UserId:{…}"
        ),
        (
            "GcmRegistrationDescription", "<Tags>$InstallationId:{a},$InstallationId:{b}</Tags>\(gcm)",
            "Tags contain more than one $InstallationId:{…}"
        ),
        ("GcmRegistrationDescription", "<PushVariables>[]</PushVariables>\(gcm)", "PushVariables is an array"),
        ("GcmRegistrationDescription", "<PushVariables>{</PushVariables>\(gcm)", "PushVariables is not valid JSON"),
        (
            "GcmRegistrationDescription",
            "<PushVariables>{\"a\":1,\"b-c\":\"\",\"d\":\"\",\"D\":\"\"}</PushVariables>\(gcm)",
            "400 PushVariables/a is a number, not a string"
        ),
        ("GcmTemplateRegistrationDescription", gcm, "BodyTemplate is missing"),
        (
            "GcmTemplateRegistrationDescription", "\(gcm)<BodyTemplate/>",
            "BodyTemplate: the body is neither a JSON object nor an XML document"
        ),
        (
            "GcmTemplateRegistrationDescription", "\(gcm)<BodyTemplate>{\"a\":\"$(b\"}</BodyTemplate>",
            "BodyTemplate: ')' is expected to close '$(b'"
        ),
        (
            "GcmTemplateRegistrationDescription", "\(gcm)<BodyTemplate><![CDATA[<a/>]]></BodyTemplate>",
            "BodyTemplate is not a JSON object, which platform gcm needs"
        ),
        (
            "WindowsTemplateRegistrationDescription", "\(windows)<BodyTemplate><toast/></BodyTemplate>",
            "BodyTemplate contains an element; put its text into a CDATA section"
        ),
        (
            "WindowsTemplateRegistrationDescription", "\(windows)<BodyTemplate>&lt;a/></BodyTemplate>",
            "WnsHeaders lack X-WNS-Type, which platform wns needs"
        ),
        (
            "AppleTemplateRegistrationDescription", "\(apple)\(header("Apns", "x-y", "1"))",
            "ApnsHeaders/x-y: a header of platform apns must begin with 'apns-'"
        ),
        (
            "AppleTemplateRegistrationDescription", "\(apple)\(header("Apns", "apns-expiration", "tomorrow"))",
            "ApnsHeaders/apns-expiration 'tomorrow' is neither an expression, nor a time in seconds since 1970"
        ),
        (
            "AppleTemplateRegistrationDescription", "\(apple)\(header("Apns", "Apns-Priority", "high"))",
            "ApnsHeaders/Apns-Priority 'high' is neither an expression, nor a number from 0 to 255"
        ),
        (
            "AppleTemplateRegistrationDescription", "\(apple)\(header("Apns", "apns-topic", "$("))",
            "ApnsHeaders/apns-topic: a property name"
        ),
        (
            "AppleTemplateRegistrationDescription", "\(apple)\(header("Apns", "apns-topic", "a&#10;b: c"))",
            "ApnsHeaders/apns-topic contains a control character"
        ),
        (
            "AppleTemplateRegistrationDescription", "\(apple)\(header("Apns", "apns-a: b", "c"))",
            "ApnsHeaders/apns-a: b: a header's name may contain only letters, digits and -_."
        ),
        (
            "AppleTemplateRegistrationDescription",
            "\(apple)<ApnsHeaders><ApnsHeader><Header>a</Header></ApnsHeader><x/></ApnsHeaders>",
            "ApnsHeaders contains something other than ApnsHeader with Header and Value; ApnsHeaders contains"
        ),
        (
            "AppleTemplateRegistrationDescription",
            apple + header("Apns", "apns-a", "</Value></ApnsHeader><ApnsHeader><Header>apns-a</Header><Value>"),
            "ApnsHeaders contains 'apns-a' twice"
        ),
        (
            "AppleTemplateRegistrationDescription",
            apple + header("Apns", "apns-a", "</Value></ApnsHeader><ApnsHeader><Header>APNS-A</Header><Value>"),
            "ApnsHeaders/apns-a differs from another only in case"
        ),
        (
            "AppleTemplateRegistrationDescription", "\(apple)<Expiry>soon</Expiry>",
            "Expiry 'soon' is neither an expression, nor a date-time, nor 0"
        ),
        (
            "AppleTemplateRegistrationDescription", "\(apple)<Expiry> </Expiry>",
            "Expiry ' ' is neither an expression, nor a date-time, nor 0"
        ),
        ("AppleTemplateRegistrationDescription", "\(apple)<Expiry>$(</Expiry>", "Expiry: a property name"),
        (
            "AppleTemplateRegistrationDescription", "\(apple)<Priority>256</Priority>",
            "Priority '256' is neither an expression, nor a number from 0 to 255"
        ),
        ("AppleTemplateRegistrationDescription", "\(apple)<Priority>#(</Priority>", "Priority: a property name"),
        (
            "BaiduTemplateRegistrationDescription",
            "<BaiduUserId>a</BaiduUserId><BaiduChannelId>b</BaiduChannelId><BodyTemplate>{}</BodyTemplate>"
                + "<MessageType>toast</MessageType>",
            "MessageType 'toast' is not a whole number"
        ),
    ])
    func `what breaks a rule is refused, and the rule said`(root: String, rest: String, part: String) {
        let said = Texts.problems(root, rest)
        #expect(said.hasPrefix("400 ") && said.contains(part), "\(said)")
    }

    @Test(arguments: [
        ("AppleRegistrationDescription", "<DeviceToken>\(String(repeating: "aF", count: 100))</DeviceToken>"),
        (
            "GcmRegistrationDescription",
            "<Tags>$InstallationId:{a=b},$UserId:{c},新闻,Économie,a_b-c@d#e.f:g</Tags>\(gcm)"
        ),
        ("GcmRegistrationDescription", "<PushVariables>{\"a\":\"\",\"b\":null}</PushVariables>\(gcm)"),
        ("GcmRegistrationDescription", "<PushVariables>null</PushVariables><Tags> , </Tags>\(gcm)"),
        // What belongs to another kind is passed over, as the service does.
        ("GcmRegistrationDescription", "\(gcm)<DeviceToken/><BodyTemplate/><Expiry/><WnsHeaders>x</WnsHeaders>"),
        ("AppleTemplateRegistrationDescription", "\(apple)<Expiry>$(e)</Expiry><Priority>{'5'}</Priority>"),
        ("AppleTemplateRegistrationDescription", "\(apple)<Expiry>0</Expiry><Priority>0</Priority>"),
        ("AppleTemplateRegistrationDescription", "\(apple)\(header("Apns", "apns-expiration", "1900000000"))"),
        ("AppleTemplateRegistrationDescription", "\(apple)\(header("Apns", "apns-expiration", "$(e)"))"),
        ("AppleTemplateRegistrationDescription", "\(apple)\(header("Apns", "APNS-Collapse-Id", "x"))"),
        (
            "WindowsTemplateRegistrationDescription",
            "\(windows)<BodyTemplate>{}</BodyTemplate>\(header("Wns", "x-wns-type", "WNS/Raw"))"
        ),
        (
            "MpnsTemplateRegistrationDescription",
            "\(windows)<BodyTemplate>{}</BodyTemplate>\(header("Mpns", "X-NotificationClass", "3"))"
        ),
        (
            "WindowsTemplateRegistrationDescription",
            "\(windows)<BodyTemplate>{}</BodyTemplate>\(header("Wns", "X-WNS-Type", "wns/toast"))"
        ),
        (
            "MpnsTemplateRegistrationDescription",
            "\(windows)<BodyTemplate>{}</BodyTemplate>\(header("Mpns", "X-NotificationClass", "12"))"
        ),
        ("WindowsRegistrationDescription", "<ChannelUri>x-other:anything</ChannelUri>"),
        ("GcmRegistrationDescription", "<PushVariables>{\"b-c\":\"1\",\"d\":\"2\",\"D\":\"3\"}</PushVariables>\(gcm)"),
        ("WindowsRegistrationDescription", "\(windows)<SecondaryTileName/>"),
    ])
    func `what the limits allow is taken`(root: String, rest: String) {
        #expect(Texts.problems(root, rest) == "")
    }

    @Test func `all problems are reported at once`() {
        let said = Texts.problems(
            "AppleTemplateRegistrationDescription",
            "<Tags>a b,$c</Tags><PushVariables>x</PushVariables><DeviceToken>x</DeviceToken><BodyTemplate>x</BodyTemplate>"
                + "<Expiry>x</Expiry><Priority>x</Priority>\(Self.header("Apns", "x", "$"))"
        )
        for part in [
            "tag 'a b'", "tag '$c'", "PushVariables is not valid JSON", "DeviceToken is not", "BodyTemplate: ",
            "Expiry 'x'",
            "Priority 'x'", "ApnsHeaders/x: a header of", "ApnsHeaders/x: '('",
        ] {
            #expect(said.contains(part), "\(part) in \(said)")
        }
    }

    @Test func `numbers and lengths are counted`() {
        func tags(_ count: Int, _ length: Int = 1) -> String {
            "<Tags>\((0..<count).map { String(repeating: "t", count: length) + "\($0)" }.joined(separator: ","))</Tags>"
        }
        func problems(_ tags: String) -> String { Texts.problems("GcmRegistrationDescription", tags + Self.gcm) }
        #expect(problems(tags(60)) == "")
        #expect(problems(tags(61)) == "400 Tags: more than 60 tags")
        // 60 tags have at most 7,259 characters, so the second limit shows beside the first only, where none was set.
        #expect(problems(tags(100, 118)).hasSuffix("Tags: the tags together are longer than 8000 characters"))
        #expect(
            problems("<Tags>\(String(repeating: "t", count: 121))</Tags>").hasSuffix("is longer than 120 characters")
        )
        func named(_ length: Int) -> String {
            Texts.problems(
                "GcmTemplateRegistrationDescription",
                "\(Self.gcm)<BodyTemplate>{}</BodyTemplate><TemplateName>\(String(repeating: "é", count: length))</TemplateName>"
            )
        }
        #expect(named(200) == "")
        #expect(named(201) == "400 TemplateName is longer than 200 characters")
    }

    @Test func `a problem never tells a push handle`() {
        for (root, rest) in [
            ("AppleRegistrationDescription", "<DeviceToken>secret</DeviceToken>"),
            ("WindowsRegistrationDescription", "<ChannelUri>secret</ChannelUri>"),
            (
                "BaiduRegistrationDescription",
                "<BaiduUserId>sec-ret</BaiduUserId><BaiduChannelId>secret </BaiduChannelId>"
            ),
            (
                "BrowserRegistrationDescription",
                "<Endpoint>secret</Endpoint><P256DH>!secret</P256DH><Auth>secret</Auth>"
            ),
        ] {
            let said = Texts.problems(root, rest)
            #expect(said.hasPrefix("400 ") && !said.contains("secret"), "\(said)")
        }
    }
}
