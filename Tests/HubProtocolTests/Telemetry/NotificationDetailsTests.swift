import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct NotificationDetailsTests {
    private static let head =
        #"<NotificationDetails xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">"#

    private static func full() throws -> NotificationDetails {
        var details = NotificationDetails(id: try MessageID("af14-17"), state: .completed)
        details.location = "https://h/news/messages/af14-17?api-version=2020-06&x=y"
        details.enqueueTime = Date(timeIntervalSince1970: 1_893_456_000)
        details.startTime = Date(timeIntervalSince1970: 1_893_456_001)
        details.endTime = Date(timeIntervalSince1970: 1_893_456_002)
        details.body = #"<toast>a & "b"</toast>"#
        details.tags = "a && !b"
        details.targetPlatforms = ["apple", "streamtemplate"]
        details.errorDetailsURI = "https://h/e"
        for platform in Platform.known { details.outcomes[platform] = [.success: 3, .skipped: 1, .wrongToken: 0] }
        return details
    }

    @Test func `telemetry is written in the order that clients read`() throws {
        let counts =
            "<Outcome><Name>Skipped</Name><Count>1</Count></Outcome><Outcome><Name>Success</Name><Count>3</Count></Outcome>"
        func element(_ name: String) -> String { "<\(name)OutcomeCounts>\(counts)</\(name)OutcomeCounts>" }
        let expected =
            Self.head + "<NotificationId>af14-17</NotificationId>"
            + "<Location>https://h/news/messages/af14-17?api-version=2020-06&amp;x=y</Location><State>Completed</State>"
            + "<EnqueueTime>2030-01-01T00:00:00Z</EnqueueTime><StartTime>2030-01-01T00:00:01Z</StartTime>"
            + "<EndTime>2030-01-01T00:00:02Z</EndTime>"
            + "<NotificationBody>&lt;toast&gt;a &amp; \"b\"&lt;/toast&gt;</NotificationBody><Tags>a &amp;&amp; !b</Tags>"
            + "<TargetPlatforms>apple,streamtemplate</TargetPlatforms>"
            + ["Apns", "Mpns", "Wns", "Gcm", "Adm"].map(element).joined()
            + "<PnsErrorDetailsUri>https://h/e</PnsErrorDetailsUri>"
            + ["FcmV1", "Baidu", "Xiaomi", "Browser"].map(element).joined()
            + #"<StreamOutcomeCounts><Stream outcome="Skipped" count="1"/><Stream outcome="Success" count="3"/>"#
            + "</StreamOutcomeCounts></NotificationDetails>"
        #expect(try Self.full().xml == expected)
    }

    @Test func `what is empty is left out`() throws {
        let details = NotificationDetails(id: try MessageID("a"), state: .noTargetFound)
        let expected = "<NotificationId>a</NotificationId><State>NoTargetFound</State></NotificationDetails>"
        #expect(details.xml == Self.head + expected)
    }

    @Test func `telemetry that is read is what was written`() throws {
        var details = try Self.full()
        details.outcomes = [.apns: [.success: 3], .gcm: [.abandoned: 2], .stream: [.success: 1, .unknownError: 2]]
        #expect(NotificationDetails(xml: details.xml) == details)
    }

    @Test func `the service's telemetry is read`() throws {
        let text = """
            <?xml version="1.0" encoding="utf-8"?><NotificationDetails xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect">
              <NotificationId>x</NotificationId><State>DetailedStateAvailable</State><New/>
              <FcmOutcomeCounts><Outcome><Name>NotFound</Name><Count>4</Count></Outcome></FcmOutcomeCounts>
            </NotificationDetails>
            """
        let details = try #require(NotificationDetails(xml: text))
        #expect(details.state.rawValue == "DetailedStateAvailable")
        #expect(details.outcomes == [.gcm: [OutcomeName(rawValue: "NotFound"): 4]])
    }

    @Test func `counts that nobody can have are passed over`() throws {
        let counts = ["9223372036854775807", "9223372036854775807", "-1", "2", "3"]
            .map { "<Outcome><Name>Success</Name><Count>\($0)</Count></Outcome>" }.joined()
        let text =
            "<NotificationDetails xmlns=\"http://schemas.microsoft.com/netservices/2010/10/servicebus/connect\">"
            + "<NotificationId>x</NotificationId><State>Completed</State>"
            + "<ApnsOutcomeCounts>\(counts)</ApnsOutcomeCounts></NotificationDetails>"
        #expect(try #require(NotificationDetails(xml: text)).outcomes == [.apns: [.success: 5]])
    }

    @Test(arguments: ["", "<NotificationDetails/>", "<NotificationDetails><NotificationId>a", "<Error/>"])
    func `a document that is not telemetry is not read`(text: String) {
        #expect(NotificationDetails(xml: text) == nil)
    }

    @Test func `states are those that Java knows, in its spelling`() {
        #expect(
            MessageState.known.map(\.rawValue) == [
                "Enqueued", "Processing", "Completed", "Abandoned", "NoTargetFound", "Unknown", "Scheduled", "Canceled",
            ]
        )
    }
}
