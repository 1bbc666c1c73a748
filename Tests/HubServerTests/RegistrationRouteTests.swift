import Foundation
import HubProtocol
import HubRouting
import HubStore
import Synchronization
import Testing

@testable import HubServer

/// Registrations as they travel.
struct RegistrationRouteTests {
    private static func entry(_ token: String, tags: String = "World") -> String {
        """
        <?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\
        <AppleRegistrationDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance" \
        xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"><Tags>\(tags)</Tags>\
        <DeviceToken>\(token)</DeviceToken></AppleRegistrationDescription></content></entry>
        """
    }

    @Test func `a client asks for an id, writes to it, reads and removes it`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let made = try await hub.send("POST", "/news/registrationIDs/?api-version=2017-04", as: hub.listen)
            #expect(made.status == 201 && made.body.isEmpty)
            let location = try #require(made.headers["location"])
            let id = try #require(location.split(separator: "/").last?.prefix { $0 != "?" }).description
            #expect(location == "https://h/news/registrationIDs/\(id)?api-version=2017-04")

            let path = "/news/registrations/\(id)?api-version=2017-04"
            let written = try await hub.send("PUT", path, as: hub.listen, Self.entry("AA11"))
            #expect(written.status == 200, "\(written.body)")
            #expect(written.headers["etag"] == #"W/"1""#)
            #expect(written.headers["content-type"] == "application/atom+xml; type=entry; charset=utf-8")
            #expect(written.headers["content-location"] == "https://h\(path)")
            #expect(written.body.contains("<id>https://h\(path)</id><title type=\"text\">\(id)</title>"))
            #expect(
                written.body.hasSuffix(
                    """
                    <content type="application/xml"><AppleRegistrationDescription \
                    xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \
                    xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><ETag>1</ETag>\
                    <ExpirationTime>9999-12-31T23:59:59.999Z</ExpirationTime><RegistrationId>\(id)</RegistrationId>\
                    <Tags>World</Tags><DeviceToken>AA11</DeviceToken></AppleRegistrationDescription></content></entry>
                    """
                ),
                "\(written.body)"
            )
            for (header, status) in [("\"7\"", 412), ("W/\"1\"", 200), ("2", 200), ("*", 200)] {
                let again = try await hub.send(
                    "PUT",
                    path,
                    as: hub.listen,
                    headers: ["If-Match": header],
                    Self.entry("AA11", tags: "Sports, World")
                )
                #expect(again.status == status, "\(header)")
            }
            let read = try await hub.send("GET", path, as: hub.listen)
            #expect(read.status == 200 && read.headers["etag"] == #"W/"4""#)
            #expect(read.body.contains("<Tags>Sports,World</Tags>"))
            let removed = try await hub.send("DELETE", path, as: hub.listen, headers: ["If-Match": "\"4\""])
            #expect(removed.status == 200 && removed.body.isEmpty)
            for method in ["GET", "DELETE"] {
                let missing = try await hub.send(method, path, as: hub.listen)
                #expect(missing.status == 404 && missing.body.contains("<Detail>Registration not found."))
            }
        }
    }

    private static func head(_ status: Int, _ fields: String, _ body: String = "") -> String {
        """
        \(status)
        \(fields)
        server: newswire
        trackingid: {guid}
        x-ms-correlation-request-id: {guid}

        \(body)
        """
    }

    private static func entry(
        _ id: String,
        etag: Int,
        at url: String,
        namespace: String = "",
        _ type: String,
        _ rest: String
    ) -> String {
        """
        <entry a:etag="W/&quot;\(etag)&quot;"\(namespace) \
        xmlns:a="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata"><id>\(url)</id>\
        <title type="text">\(id)</title><published>2030-03-17T17:46:40Z</published><updated>2030-03-17T17:46:40Z</updated>\
        <link rel="self" href="\(url)"/><content type="application/xml"><\(type)RegistrationDescription \
        xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \
        xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><ETag>\(etag)</ETag>\
        <ExpirationTime>9999-12-31T23:59:59.999Z</ExpirationTime><RegistrationId>\(id)</RegistrationId>\(rest)\
        </\(type)RegistrationDescription></content></entry>
        """
    }

    /// Recorded from the service (protocol §3.7).
    private static let windows = """
        <Tags>tag1</Tags><PushVariables>{"var1":"value1"}</PushVariables><ChannelUri>https://some.url/</ChannelUri>\
        <SecondaryTileName>Tile name</SecondaryTileName><BodyTemplate><![CDATA[<toast><visual>\
        <binding template="ToastText01"><text id="1">bodyText</text></binding>  </visual></toast>]]></BodyTemplate>\
        <WnsHeaders><WnsHeader><Header>X-WNS-Type</Header><Value>wns/toast</Value></WnsHeader></WnsHeaders>\
        <TemplateName>Template Name</TemplateName>
        """

    @Test func `a registration is written, read and removed with the service's own replies`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let made = try await hub.send("POST", "/news/registrationids?api-version=2017-04", as: hub.listen)
            let id = made.headers["location"]?.split(separator: "/").last?.prefix { $0 != "?" }.description ?? ""
            #expect(
                made.whole
                    == Self.head(
                        201,
                        """
                        content-length: {length}
                        date: {date}
                        location: https://h/news/registrationids/\(id)?api-version=2017-04
                        """
                    )
            )
            let query = "?api-version=2017-04"
            let sent = """
                <entry xmlns="http://www.w3.org/2005/Atom"><content type="application/xml">\
                <WindowsTemplateRegistrationDescription xmlns:i="http://www.w3.org/2001/XMLSchema-instance" \
                xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">\(Self.windows)\
                </WindowsTemplateRegistrationDescription></content></entry>
                """
            let path = "/news/registrations/\(id)\(query)"
            func reply(_ id: String, etag: Int) -> String {
                let url = "https://h/news/registrations/\(id)\(query)"
                let atom = " xmlns=\"http://www.w3.org/2005/Atom\""
                return Self.head(
                    200,
                    """
                    content-length: {length}
                    content-location: \(url)
                    content-type: application/atom+xml; type=entry; charset=utf-8
                    date: {date}
                    etag: W/"\(etag)"
                    """,
                    Self.entry(id, etag: etag, at: url, namespace: atom, "WindowsTemplate", Self.windows)
                )
            }
            for etag in 1...2 {
                #expect(try await hub.send("PUT", path, as: hub.listen, sent).whole == reply(id, etag: etag))
            }
            #expect(try await hub.send("GET", path, as: hub.listen).whole == reply(id, etag: 2))
            let created = try await hub.send("POST", "/news/registrations/\(query)", as: hub.listen, sent)
            let other = created.body.split(separator: "<RegistrationId>").last?.prefix { $0 != "<" }.description ?? ""
            #expect(created.whole == reply(other, etag: 1))
            let removed = try await hub.send("DELETE", path, as: hub.listen, headers: ["If-Match": "*"])
            #expect(removed.whole == Self.head(200, "content-length: {length}\ndate: {date}"))
        }
    }

    @Test func `an installation is listed as its native registration and its templates, page by page`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            let phone = #"""
                {"installationId":"p","platform":"apns","pushChannel":"62BC","userId":"ann","tags":["tag1"],\#
                "pushVariables":{"var1":"value1"},"templates":{"Template Name":{"body":"{\"aps\":{\"alert\":\"$(a)\"}}",\#
                "headers":{"apns-topic":"app","apns-priority":"5"},"expiry":"0","tags":["Loud"]}}}
                """#
            #expect(try await hub.send("PUT", "installations/p", as: hub.listen, phone).status == 200)
            let parts = try await hub.hub.registrations.page(.tag(Tag("tag1")), from: nil, limit: 9).registrations
            let ids = parts.map(\.registration.id.text)
            try #require(ids.count == 2)
            let tags = "$InstallationId:{p},$UserId:{ann},tag1"
            let middle = "<PushVariables>{\"var1\":\"value1\"}</PushVariables><DeviceToken>62BC</DeviceToken>"
            func entries(_ query: String) -> [String] {
                let urls = ids.map { "https://h/news/registrations/\($0)?\(query)" }
                return [
                    Self.entry(ids[0], etag: 1, at: urls[0], "Apple", "<Tags>\(tags)</Tags>\(middle)"),
                    Self.entry(
                        ids[1],
                        etag: 1,
                        at: urls[1],
                        "AppleTemplate",
                        """
                        <Tags>\(tags),Loud,Template Name</Tags>\(middle)<BodyTemplate><![CDATA[{"aps":{"alert":"$(a)"}}]]></BodyTemplate>\
                        <Expiry>0</Expiry><TemplateName>Template Name</TemplateName><ApnsHeaders><ApnsHeader>\
                        <Header>apns-priority</Header><Value>5</Value></ApnsHeader><ApnsHeader><Header>apns-topic</Header>\
                        <Value>app</Value></ApnsHeader></ApnsHeaders>
                        """
                    ),
                ]
            }
            func feed(_ query: String, _ entries: [String], next: String?) -> String {
                let url = "https://h/news/tags/tag1/registrations"
                let link = next.map { "<link rel=\"next\" href=\"\(url)?api-version=2017-04&amp;$top=1&amp;\($0)\"/>" }
                let token = next.map { "\nx-ms-continuationtoken: \($0.split(separator: "=").last ?? "")" }
                return """
                    200
                    content-length: {length}
                    content-type: application/atom+xml; type=feed; charset=utf-8
                    date: {date}
                    server: newswire
                    trackingid: {guid}\(token ?? "")
                    x-ms-correlation-request-id: {guid}

                    <feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Registrations</title>\
                    <id>\(url)?\(query)</id><updated>2030-03-17T17:46:40Z</updated><link rel="self" \
                    href="\(url)?\(query)"/>\(link ?? "")\(entries.joined())</feed>
                    """
            }
            let path = "/news/tags/tag1/registrations?api-version=2017-04"
            let all = try await hub.send("GET", path, as: hub.full)
            #expect(all.whole == feed("api-version=2017-04", entries("api-version=2017-04"), next: nil))
            let first = try await hub.send("GET", "\(path)&$top=1", as: hub.full)
            let next = "continuationtoken=\(first.headers["x-ms-continuationtoken"] ?? "")"
            let one = "api-version=2017-04&amp;$top=1"
            #expect(first.whole == feed(one, [entries(one)[0]], next: next))
            let second = try await hub.send("GET", "\(path)&$top=1&\(next)", as: hub.full)
            let rest = "\(one)&amp;\(next)"
            #expect(second.whole == feed(rest, [entries(rest)[1]], next: nil))
        }
    }

    @Test func `lists are of all, of a tag, or of a handle, and each needs its right`() async throws {
        try await TestHub.run(try Scratch()) { hub in
            for number in 10..<15 {
                let tags = number < 12 ? "World" : "Sports"
                let reply = try await hub.send(
                    "POST",
                    "/news/registrations/",
                    as: hub.listen,
                    Self.entry("AA\(number)", tags: tags)
                )
                #expect(reply.status == 200)
            }
            func entries(_ path: String, as rule: AccessRule) async throws -> (status: Int, count: Int, next: String?) {
                let reply = try await hub.send("GET", path, as: rule)
                let count = reply.body.components(separatedBy: "<RegistrationId>").count - 1
                return (reply.status, count, reply.headers["x-ms-continuationtoken"])
            }
            #expect(try await entries("/news/registrations", as: hub.listen).status == 401)
            #expect(try await entries("/news/tags/World/registrations", as: hub.listen).status == 401)
            #expect(try await entries("/news/registrations?api-version=2015-01", as: hub.full) == (200, 5, nil))
            #expect(try await entries("/news/tags/wORLD/registrations", as: hub.full) == (200, 2, nil))
            #expect(
                try await entries("/news/tags/%24InstallationId%3A%7Bx%7D/registrations", as: hub.full) == (200, 0, nil)
            )
            for filter in [
                "?$filter=ChannelUri+eq+'aa11'", "?%24filter=deviceToken%20eq%20%27AA11%27",
                "?api-version=2014-09&$FILTER=GcmRegistrationId eq 'AA11'".replacing(" ", with: "+"),
            ] {
                let found = try await entries("/news/registrations/\(filter)", as: hub.listen)
                #expect(found == (200, 1, nil), "\(filter)")
            }
            #expect(try await entries("/news/registrations?$filter=nonsense", as: hub.listen).status == 400)
            #expect(try await entries("/news/registrations?$top=0", as: hub.full).status == 400)
            var (seen, path, pages) = (0, "/news/Registrations?$top=2", 0)
            while pages < 9 {
                let page = try await entries(path, as: hub.full)
                seen += page.count
                pages += 1
                guard let next = page.next else { break }
                #expect(next.utf8.allSatisfy { $0.isTokenByte })
                path = "/news/Registrations?$top=2&ContinuationToken=\(next)"
            }
            #expect(seen == 5 && pages == 3)
        }
    }

    @Test(arguments: [Int64.max, -1, .min])
    func `a token that somebody made up is refused`(position: Int64) async throws {
        try await TestHub.run(try Scratch()) { hub in
            let token = ContinuationToken(position: "\(position)").text
            for path in ["tags/x/registrations?", "registrations?$filter=ChannelUri+eq+'AA11'&"] {
                let reply = try await hub.send("GET", "\(path)continuationtoken=\(token)", as: hub.full)
                #expect(reply.status == 400, "\(path)")
            }
        }
    }

    @Test func `how many tags there may be is the operator's to say`() async throws {
        try await TestHub.run(try Scratch()) {
            $0.maximumTags = 70
        } _: { hub in
            func tags(_ count: Int) -> [String] { (0..<count).map { "t\($0)" } }
            for (count, status) in [(70, 200), (71, 400)] {
                let entry = Self.entry("AA11", tags: tags(count).joined(separator: ","))
                #expect(try await hub.send("PUT", "registrations/1-1-1", as: hub.listen, entry).status == status)
                let list = tags(count).map { "\"\($0)\"" }.joined(separator: ",")
                let phone = #"{"installationId":"p","platform":"gcm","pushChannel":"g","tags":[\#(list)]}"#
                #expect(try await hub.send("PUT", "installations/p", as: hub.listen, phone).status == status)
            }
            for (tag, status) in [("t1", 200), ("t70", 400)] {
                let patch = #"[{"op":"add","path":"/tags/\#(tag)"}]"#
                let reply = try await hub.send("PATCH", "installations/p", as: hub.listen, patch)
                #expect(reply.status == status)
                if status == 400 { #expect(reply.body.contains("more than 70 tags")) }
            }
        }
    }

    @Test func `what has expired is gone for its owner, what was deleted can be written anew`() async throws {
        let clock = TestClock()
        try await TestHub.run(try Scratch(), clock: clock) { hub in
            try await hub.set { $0.registrationLifetime = .seconds(86_400) }
            let path = "/news/registrations/1-2-1"
            #expect(try await hub.send("PUT", path, as: hub.listen, Self.entry("AA11")).status == 200)
            #expect(try await hub.send("DELETE", path, as: hub.listen).status == 200)
            let written = try await hub.send("PUT", path, as: hub.listen, Self.entry("AA11"))
            let expiry = ISODateTime.format(clock.now.addingTimeInterval(86_400)).replacing("Z", with: ".000Z")
            #expect(written.body.contains("<ExpirationTime>\(expiry)</ExpirationTime>"), "\(written.body)")
            let now = Timestamp(clock.now)
            #expect(try await hub.hub.registrations.endExpired(at: now, limit: 10) == 0)
            #expect(try await hub.hub.registrations.endExpired(at: now + .seconds(86_400), limit: 10) == 1)
            let gone = try await hub.send("PUT", path, as: hub.listen, Self.entry("AA11"))
            #expect(gone.status == 410 && gone.body.hasPrefix("<Error><Code>410</Code><Detail>"))
            #expect(try await hub.hub.recipients(of: nil, .apple).total == 0)
        }
    }
}

extension UInt8 {
    /// `[A-Za-z0-9_-]`: what all clients pass on unchanged.
    fileprivate var isTokenByte: Bool {
        let scalar = Unicode.Scalar(self)
        return scalar.properties.isAlphabetic || (0x30...0x39).contains(self) || scalar == "-" || scalar == "_"
    }
}
