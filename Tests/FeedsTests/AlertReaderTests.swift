import FoundationEssentials
import Testing

@testable import Feeds

struct AlertReaderTests {
    private static let alert = """
        <alert xmlns="urn:oasis:names:tc:emergency:cap:1.2">
          <identifier>w-7</identifier><sender>met@weather.example</sender><sent>2026-11-20T10:00:00-00:00</sent>
          <status>Actual</status><msgType>Update</msgType><scope>Public</scope><source>Desk 4</source>
          <references>met@weather.example,w-5,2026-11-20T08:00:00-00:00 met@weather.example,w-6,2026-11-20T09:00:00-00:00
          </references>
          <info><language>en</language><category>Met</category><event>Storm</event><urgency>Immediate</urgency>
            <severity>Extreme</severity><certainty>Observed</certainty><effective>2026-11-20T10:00:00+01:00</effective>
            <onset>2026-11-20T11:00:00Z</onset><expires>2026-11-20T20:00:00Z</expires><senderName>Weather office</senderName>
            <headline>Storm on the coast</headline><description>Gusts of  120 km/h.</description>
            <instruction>Stay inside.</instruction><web>https://weather.example/7</web>
            <area><areaDesc>North coast</areaDesc></area><area><areaDesc>Islands</areaDesc></area></info>
          <info><language>fr</language><event>Tempête</event><expires>2026-11-20T21:00:00Z</expires></info>
        </alert>
        """

    @Test func `an alert is a feed of one entry`() throws {
        let feed = try read(Self.alert)
        #expect(feed.format.description == "cap-1.2" && feed.isComplete && feed.malformed == nil)
        #expect(feed.title == "Weather office" && feed.language == "en")
        let entry = try #require(feed.entries.first)
        #expect(entry.id == "met@weather.example,w-7,2026-11-20T10:00:00-00:00")
        #expect(entry.title == "Storm on the coast" && entry.summary == "Gusts of 120 km/h.")
        #expect(entry.link == "https://weather.example/7" && text(entry.published) == "2026-11-20T10:00:00Z")
        #expect(entry.categories == ["Met", "Storm"] && entry.author == "Weather office")
    }

    @Test func `an alert's fields are distinguished`() throws {
        let alert = try #require(try read(Self.alert).entries.first?.alert)
        #expect(alert.version == "1.2" && alert.messageType == "Update" && alert.source == "Desk 4")
        #expect(
            alert.replaces == [
                "met@weather.example,w-5,2026-11-20T08:00:00-00:00",
                "met@weather.example,w-6,2026-11-20T09:00:00-00:00",
            ]
        )
        #expect(alert.info.map(\.language) == ["en", "fr"] && alert.info.map(\.event) == ["Storm", "Tempête"])
        let info = try #require(alert.info.first)
        #expect([info.urgency, info.severity, info.certainty] == ["Immediate", "Extreme", "Observed"])
        #expect(text(info.effective) == "2026-11-20T09:00:00Z" && text(info.onset) == "2026-11-20T11:00:00Z")
        #expect(info.areas == ["North coast", "Islands"] && info.instruction == "Stay inside.")
        #expect(text(alert.expires) == "2026-11-20T21:00:00Z")
    }

    @Test(arguments: [
        ("Actual", "Public", true), ("Test", "Public", false), ("Exercise", "Public", false),
        ("actual", "Restricted", false),
    ])
    func `tests and closed circles are not for the public`(status: String, scope: String, isPublic: Bool) throws {
        let document = Self.alert.replacing(">Actual<", with: ">\(status)<").replacing(">Public<", with: ">\(scope)<")
        #expect(try read(document).entries.first?.alert?.isForThePublic == isPublic)
    }

    @Test func `the older version is read too`() throws {
        let feed = try read(Self.alert.replacing("cap:1.2", with: "cap:1.1"))
        #expect(feed.format.description == "cap-1.1" && feed.entries.first?.alert?.info.count == 2)
    }

    @Test func `an index that repeats the fields`() throws {
        let feed = try read(
            """
            <feed xmlns="http://www.w3.org/2005/Atom" xmlns:cap="urn:oasis:names:tc:emergency:cap:1.1"><title>T</title>
            <entry><id>1</id><title>Flood</title><link href="https://weather.example/1.cap"/>
              <cap:event>Flood Warning</cap:event><cap:status>Test</cap:status><cap:msgType>Alert</cap:msgType>
              <cap:severity>Severe</cap:severity><cap:expires>2026-11-20T20:00:00Z</cap:expires>
              <cap:areaDesc>Low valley</cap:areaDesc></entry>
            <entry><id>2</id><title>None</title></entry></feed>
            """
        )
        let alert = try #require(feed.entries.first?.alert)
        #expect(alert.version == "1.1" && !alert.isForThePublic && alert.messageType == "Alert")
        #expect(alert.info.first?.event == "Flood Warning" && alert.info.first?.areas == ["Low valley"])
        #expect(feed.entries.last?.alert == nil)
    }

    @Test(arguments: [
        "<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>1</id><content type='text/xml'>ALERT</content></entry></feed>",
        "<rss version='2.0'><channel><item><guid>1</guid>ALERT</item></channel></rss>",
    ])
    func `a whole alert inside an entry`(document: String) throws {
        let entry = try #require(try read(document.replacing("ALERT", with: Self.alert)).entries.first)
        #expect(entry.id == "1" && entry.alert?.identifier == "w-7" && entry.alert?.info.count == 2)
    }
}
