import Testing

@testable import HubProtocol

/// Source: protocol §3.5.
@Suite struct HandleFilterTests {
    private static let browser = BrowserPushChannel(endpoint: "https://push.example/x?a=1", p256dh: "BAb-_", auth: "c2")

    @Test(arguments: [
        (".NET and Java, of any platform", "ChannelUri eq '62BCD348'", "62bcd348"),
        (".NET, blanks as '+'", "ChannelUri+eq+'x:y'", "x:y"),
        ("iOS", "deviceToken+eq+'62bcd348'", "62BCD348"),
        ("azure-sb", "deviceToken eq '62BCD348'", "62BCD348"),
        ("azure-sb", "GcmRegistrationId eq 'a+b'", "a+b"),
        ("Android", "FcmV1RegistrationId eq 'a:b_c-d'", "a:b_c-d"),
        ("Android", "AdmRegistrationId eq 'amzn1.adm'", "amzn1.adm"),
        ("Android", "BaiduUserId-BaiduChannelId eq '1-2'", "1-2"),
        ("Windows Phone", "channeluri+eq+'https://x.example/?token=a%2bb'", "https://x.example/?token=a%2bb"),
        (
            "JavaScript, escaped once more", "ChannelUri eq 'https%3A%2F%2Fx.example%2F%3Ftoken%3Da%252bb'",
            "https://x.example/?token=a%2bb"
        ),
        ("JavaScript, without the first quote", "BaiduChannelId eq 2' and BaiduUserId eq '1'", "1-2"),
        ("the whole escaped twice", "ChannelUri%20eq%20%27x%27", "x"),
        ("quotes inside", "  CHANNELURI \t EQ  'it''s ''so''' ", "it's 'so'"),
        ("no blanks", "XiaomiRegistrationId eq'x'", "x"),
        ("words of the grammar", "FcmRegistrationId eq ' and eq '' and '", " and eq ' and "),
        ("nothing", "ChannelUri eq ''", ""),
    ])
    func `what a client asks finds its handle`(client: String, text: String, handle: String) throws {
        let filter = try HandleFilter(parsing: text)
        #expect(filter.handles.contains { $0.lowercased() == handle.lowercased() }, "\(client)")
        #expect(filter.matches(.handle(handle)), "\(client)")
        #expect(!filter.matches(.handle(handle + "0")), "\(client)")
    }

    @Test func `only what is hexadecimal is the same in another case`() throws {
        let token = try HandleFilter(parsing: "DeviceToken eq 'aBcD'")
        #expect(token.matches(.handle("ABcd")))
        let other = try HandleFilter(parsing: "DeviceToken eq 'aBcX'")
        #expect(other.matches(.handle("aBcX")) && !other.matches(.handle("ABCX")))
    }

    @Test(arguments: [
        "Endpoint eq 'https://push.example/x?a=1'",
        "ChannelUri eq 'https://push.example/x?a=1'",
        "Endpoint eq 'https%3A%2F%2Fpush.example%2Fx%3Fa%3D1' and P256DH eq 'BAb-_' and Auth eq 'c2'",
        "auth eq 'c2'+and+endpoint eq 'https://push.example/x?a=1'",
        #"ChannelUri eq '{"endpoint":"https://push.example/x?a=1","p256dh":"BAb-_","auth":"c2"}'"#,
    ])
    func `a browser is found by its endpoint, and by all that is given`(text: String) throws {
        let filter = try HandleFilter(parsing: text)
        #expect(filter.handles.contains(Self.browser.endpoint))
        #expect(filter.matches(.browser(Self.browser)))
        for other in [
            BrowserPushChannel(endpoint: "https://push.example/y", p256dh: "BAb-_", auth: "c2"),
            BrowserPushChannel(endpoint: "https://push.example/x?a=1", p256dh: "other", auth: "other"),
        ] {
            let isAsked = other.endpoint == Self.browser.endpoint && filter.p256dh == nil && filter.auth == nil
            #expect(filter.matches(.browser(other)) == isAsked)
        }
    }

    @Test(arguments: [
        ("", "'' is not one of DeviceToken, ChannelUri"),
        ("'x'", "'' is not one of"),
        ("Tag eq 'x'", "'Tag' is not one of"),
        ("ChannelUri", "'eq' is expected after ChannelUri"),
        ("ChannelUri eq", "'eq' is expected after ChannelUri"),
        ("ChannelUri ne 'x'", "'eq' is expected after ChannelUri"),
        ("ChannelUri equals 'x'", "'eq' is expected after ChannelUri"),
        ("ChannelUri eq ", "ChannelUri needs a value in single quotes"),
        ("ChannelUri eq x", "ChannelUri needs a value in single quotes"),
        ("ChannelUri eq x'", "ChannelUri needs a value in single quotes"),
        ("ChannelUri eq 'x", "ChannelUri needs a value in single quotes"),
        ("ChannelUri eq 'x''", "ChannelUri needs a value in single quotes"),
        ("ChannelUri eq \"x\"", "ChannelUri needs a value in single quotes"),
        ("BaiduChannelId eq x", "BaiduChannelId needs a value in single quotes"),
        ("ChannelUri eq 'x' 'y'", "'and' is expected after the handle"),
        ("ChannelUri eq 'x' or ChannelUri eq 'y'", "'and' is expected after the handle"),
        ("ChannelUri eq 'x' and", "'and' is expected after the handle"),
        ("ChannelUri eq 'x' and ", "'' is not one of"),
        ("ChannelUri eq 'x' and channeluri eq 'x'", "ChannelUri appears twice"),
        ("ChannelUri eq 'x' and DeviceToken eq 'x'", "it names more than one handle"),
        ("P256DH eq 'x' and Auth eq 'y'", "it names no handle"),
        ("(ChannelUri eq 'x')", "'' is not one of"),
        ("%", "'' is not one of"),
        (String(repeating: "a", count: 20_000), "is longer than 16384 bytes"),
    ])
    func `any other filter is refused with the form that it has to have`(text: String, part: String) {
        #expect { try HandleFilter(parsing: text) } throws: { error in
            let said = (error as? ProtocolError).map { "\($0.status) \($0.detail)" } ?? ""
            return said.hasPrefix("400 $filter") && said.contains(part)
        }
    }

    @Test func `a refusal never tells the handle`() {
        for text in ["ChannelUri eq 'secret", "ChannelUri eq 'secret' x", "ChannelUri eq 'secret' and Auth eq 'secret"]
        {
            #expect { try HandleFilter(parsing: text) } throws: { !"\($0)".contains("secret") }
        }
    }
}
