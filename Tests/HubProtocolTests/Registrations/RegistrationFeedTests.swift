import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct RegistrationFeedTests {
    private static let date = Date(timeIntervalSince1970: 1_541_549_917)

    private static func registration(_ id: String, etag: Int) throws -> Registration {
        Registration(
            id: try RegistrationID(id),
            etag: etag,
            tags: [.installation(try InstallationID("i")), try Tag("a")],
            platform: .gcm,
            pushChannel: .handle("h")
        )
    }

    @Test func `a page is the service's, byte for byte`() throws {
        let feed = RegistrationFeed(
            registrations: [try Self.registration("1-2-3", etag: 1), try Self.registration("4-5-6", etag: 12)],
            address: RequestAddress(
                origin: "https://hub.example",
                path: "/news/tags/a/registrations",
                query: "api-version=2017-04&$top=2"
            ),
            items: RequestAddress(
                origin: "https://hub.example",
                path: "/news/registrations",
                query: "api-version=2017-04&$top=2"
            ),
            next: ContinuationToken(position: "4-5-6")
        )
        let described = #"""
            <content type="application/xml"><GcmRegistrationDescription \#
            xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" \#
            xmlns:i="http://www.w3.org/2001/XMLSchema-instance">
            """#
        #expect(
            String(decoding: feed.encoded(date: Self.date), as: UTF8.self) == #"""
                <feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Registrations</title>\#
                <id>https://hub.example/news/tags/a/registrations?api-version=2017-04&amp;$top=2</id>\#
                <updated>2018-11-07T00:18:37Z</updated>\#
                <link rel="self" href="https://hub.example/news/tags/a/registrations?api-version=2017-04&amp;$top=2"/>\#
                <link rel="next" href="https://hub.example/news/tags/a/registrations?api-version=2017-04&amp;$top=2\#
                &amp;continuationtoken=NC01LTbYwQ"/>\#
                <entry a:etag="W/&quot;1&quot;" \#
                xmlns:a="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">\#
                <id>https://hub.example/news/registrations/1-2-3?api-version=2017-04&amp;$top=2</id>\#
                <title type="text">1-2-3</title><published>2018-11-07T00:18:37Z</published>\#
                <updated>2018-11-07T00:18:37Z</updated><link rel="self" \#
                href="https://hub.example/news/registrations/1-2-3?api-version=2017-04&amp;$top=2"/>\#
                \#(described)<ETag>1</ETag><ExpirationTime>9999-12-31T23:59:59.999Z</ExpirationTime>\#
                <RegistrationId>1-2-3</RegistrationId><Tags>$InstallationId:{i},a</Tags>\#
                <GcmRegistrationId>h</GcmRegistrationId></GcmRegistrationDescription></content></entry>\#
                <entry a:etag="W/&quot;12&quot;" \#
                xmlns:a="http://schemas.microsoft.com/ado/2007/08/dataservices/metadata">\#
                <id>https://hub.example/news/registrations/4-5-6?api-version=2017-04&amp;$top=2</id>\#
                <title type="text">4-5-6</title><published>2018-11-07T00:18:37Z</published>\#
                <updated>2018-11-07T00:18:37Z</updated><link rel="self" \#
                href="https://hub.example/news/registrations/4-5-6?api-version=2017-04&amp;$top=2"/>\#
                \#(described)<ETag>12</ETag><ExpirationTime>9999-12-31T23:59:59.999Z</ExpirationTime>\#
                <RegistrationId>4-5-6</RegistrationId><Tags>$InstallationId:{i},a</Tags>\#
                <GcmRegistrationId>h</GcmRegistrationId></GcmRegistrationDescription></content></entry></feed>
                """#
        )
    }

    @Test func `an empty page has no entry`() {
        let address = RequestAddress(origin: "https://hub.example", path: "/news/registrations/", query: "")
        let feed = RegistrationFeed(registrations: [], address: address, items: address, next: nil)
        #expect(
            String(decoding: feed.encoded(date: Self.date), as: UTF8.self) == #"""
                <feed xmlns="http://www.w3.org/2005/Atom"><title type="text">Registrations</title>\#
                <id>https://hub.example/news/registrations/</id><updated>2018-11-07T00:18:37Z</updated>\#
                <link rel="self" href="https://hub.example/news/registrations/"/></feed>
                """#
        )
    }

    @Test(arguments: [
        ("/h/registrations", "", "https://x/h/registrations/1-2-3"),
        ("/h/registrations/", "", "https://x/h/registrations/1-2-3"),
        ("/H/RegistrationIDs", "api-version=2013-08", "https://x/H/RegistrationIDs/1-2-3?api-version=2013-08"),
    ])
    func `an item's address has the request's path and query as they came`(path: String, query: String, item: String)
        throws
    {
        let address = RequestAddress(origin: "https://x", path: path, query: query)
        #expect(address.item(try RegistrationID("1-2-3")) == item)
        #expect(address.url == "https://x\(path)\(query.isEmpty ? "" : "?")\(query)")
    }

    @Test(arguments: [
        ("", "?continuationtoken="),
        ("$top=1", "?$top=1&continuationtoken="),
        ("continuationtoken=old&$top=1", "?$top=1&continuationtoken="),
        ("api-version=1&ContinuationToken=old", "?api-version=1&continuationtoken="),
        ("continuationtokens=kept&continuationtoken", "?continuationtokens=kept&continuationtoken="),
    ])
    func `the next page's address has one token`(query: String, expected: String) {
        let token = ContinuationToken(position: "7")
        let address = RequestAddress(origin: "https://x", path: "/h/registrations", query: query)
        #expect(address.page(token) == "https://x/h/registrations\(expected)\(token.text)")
    }
}
