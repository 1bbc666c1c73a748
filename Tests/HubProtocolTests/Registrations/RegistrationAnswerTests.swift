import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct RegistrationAnswerTests {
    private static let address = RequestAddress(origin: "https://x", path: "/h/registrations", query: "")

    private static func registrations() throws -> [Registration] {
        let browser = BrowserPushChannel(endpoint: "https://push.example/1", p256dh: "p", auth: "a")
        return [
            Registration(
                id: try RegistrationID("1-2-3"),
                etag: 7,
                expirationTime: Date(timeIntervalSince1970: 1_900_000_000.123),
                tags: try (0..<100).map { try Tag("t\($0)") },
                pushVariables: ["a": "b<"],
                platform: .wns,
                pushChannel: .handle("https://wns.example/?a&b"),
                secondaryTileName: "tile",
                template: RegistrationTemplate(name: "n", body: "<toast/>", headers: ["X-WNS-Type": "wns/toast"])
            ),
            Registration(id: try RegistrationID("4-5-6"), etag: 1, platform: .browser, pushChannel: .browser(browser)),
            Registration(
                id: try RegistrationID("7-8-9"),
                etag: 2,
                platform: .gcm,
                pushChannel: .handle("g"),
                isFcm: true
            ),
        ]
    }

    @Test func `what a hub writes is read again, more tags than a client may have among it`() throws {
        let all = try Self.registrations()
        let feed = RegistrationFeed(registrations: all, address: Self.address, items: Self.address, next: nil).encoded(
            date: Date()
        )
        let answer = try RegistrationAnswer(feed)
        #expect(answer.registrations == all && answer.problems.isEmpty)
        for registration in all {
            #expect(
                try RegistrationAnswer(registration.entry(at: "https://x", date: Date())).registrations == [
                    registration
                ]
            )
        }
    }

    @Test func `a feed of the service is read, with tags that we would refuse`() throws {
        let feed = #"""
            <feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Registrations</title>\#
            <id>https://ns.servicebus.windows.net/h/registrations/?api-version=2020-06</id>\#
            <updated>2018-11-07T00:18:37Z</updated>\#
            <entry m:etag="W/&quot;3&quot;" xmlns:m="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">\#
            <id>https://ns.servicebus.windows.net/h/registrations/1-2-3?api-version=2020-06</id>\#
            <title type="text">1-2-3</title><content type="application/xml"><AppleTemplateRegistrationDescription \#
            xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \#
            xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><ETag>3</ETag>\#
            <ExpirationTime>9999-12-31T23:59:59.999</ExpirationTime><RegistrationId>1-2-3</RegistrationId>\#
            <Tags>Breaking News,news,News</Tags><DeviceToken>AABB</DeviceToken>\#
            <BodyTemplate><![CDATA[{"aps":{"alert":"$(m)"}}]]></BodyTemplate><Expiry i:nil="true"/>\#
            <TemplateName>t</TemplateName><ApnsHeaders/></AppleTemplateRegistrationDescription></content></entry></feed>
            """#
        let answer = try RegistrationAnswer(feed.bytes)
        #expect(answer.problems.isEmpty)
        let registration = try #require(answer.registrations.first)
        #expect(registration.tags.map(\.text) == ["Breaking News", "news", "News"])
        #expect(registration.etag == 3 && registration.expirationTime == nil)
        #expect(registration.template?.name == "t" && registration.template?.expiry == nil)
    }

    @Test func `what cannot be read hides no other`() throws {
        let feed = RegistrationFeed(
            registrations: try Self.registrations(),
            address: Self.address,
            items: Self.address,
            next: nil
        )
        let text = String(decoding: feed.encoded(date: Date()), as: UTF8.self)
            .replacing("BrowserRegistrationDescription", with: "PagerRegistrationDescription")
            .replacing("<RegistrationId>7-8-9</RegistrationId>", with: "")
        let answer = try RegistrationAnswer(text.bytes)
        #expect(answer.registrations == [try Self.registrations()[0]])
        #expect(answer.problems.count == 2)
        #expect(
            answer.problems.first?.contains("'PagerRegistrationDescription' is not a registration description") == true
        )
        #expect(answer.problems.last?.contains("RegistrationId is missing") == true)
    }

    @Test(arguments: ["", "<", "{}", "<feed/>", "<a xmlns='http://www.w3.org/2005/Atom'/>"])
    func `what is neither an entry nor a feed is refused`(body: String) {
        #expect(throws: ProtocolError.self) { try RegistrationAnswer(body.bytes) }
    }
}
