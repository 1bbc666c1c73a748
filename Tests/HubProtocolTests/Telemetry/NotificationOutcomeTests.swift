import Formats
import FoundationEssentials
import Testing

@testable import HubProtocol

@Suite struct NotificationOutcomeTests {
    private static let head =
        #"<NotificationOutcome xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance">"#

    @Test func `an outcome is written as the service writes it`() {
        let outcome = NotificationOutcome(
            success: 1,
            failure: 0,
            results: [
                RegistrationResult(
                    applicationPlatform: "apple",
                    pnsHandle: "62BC",
                    registrationID: "5338-2-1",
                    outcome: "The Notification was successfully sent to the Push Notification System"
                )
            ]
        )
        #expect(
            outcome.xml == Self.head
                + "<Success>1</Success><Failure>0</Failure><Results><RegistrationResult><ApplicationPlatform>apple</ApplicationPlatform><PnsHandle>62BC</PnsHandle><RegistrationId>5338-2-1</RegistrationId><Outcome>The Notification was successfully sent to the Push Notification System</Outcome></RegistrationResult></Results></NotificationOutcome>"
        )
        #expect(NotificationOutcome(xml: outcome.xml) == outcome)
    }

    @Test func `all three elements are there when nobody matched`() {
        let outcome = NotificationOutcome(success: 0, failure: 0, results: [])
        #expect(
            outcome.xml == Self.head + "<Success>0</Success><Failure>0</Failure><Results/></NotificationOutcome>"
        )
        #expect(NotificationOutcome(xml: outcome.xml) == outcome)
        #expect(NotificationOutcome(xml: "<NotificationOutcome/>") == nil)
    }

    @Test func `a result without an id or a handle has their elements, which .NET and JS require`() {
        let result = RegistrationResult(applicationPlatform: "", pnsHandle: "", registrationID: nil, outcome: "Gone.")
        let outcome = NotificationOutcome(success: 0, failure: 1, results: [result])
        #expect(
            outcome.xml.contains(
                "<ApplicationPlatform></ApplicationPlatform><PnsHandle></PnsHandle><RegistrationId></RegistrationId><Outcome>Gone.</Outcome>"
            )
        )
        #expect(NotificationOutcome(xml: outcome.xml) == outcome)
    }

    @Test func `feedback is written as the service writes it`() throws {
        var feedback = PnsFeedback(
            feedbackTime: Date(timeIntervalSince1970: 1_893_456_000),
            notificationSystemError: .expiredChannel,
            platform: .apple,
            pnsHandle: "62BC"
        )
        let head =
            #"<PnsFeedback xmlns="http://schemas.microsoft.com/netservices/2010/10/servicebus/connect" xmlns:i="http://www.w3.org/2001/XMLSchema-instance"><FeedbackTime>2030-01-01T00:00:00Z</FeedbackTime><NotificationSystemError>ExpiredChannel</NotificationSystemError><Platform>apple</Platform><PnsHandle>62BC</PnsHandle>"#
        #expect(feedback.xml == head + "</PnsFeedback>")
        feedback.registrationID = try RegistrationID("1-2-3")
        feedback.installationID = try InstallationID("i")
        feedback.notificationID = try MessageID("m")
        feedback.newPnsHandle = "63BC"
        #expect(
            feedback.xml == head
                + "<RegistrationId>1-2-3</RegistrationId><InstallationId>i</InstallationId><NotificationId>m</NotificationId><NewPnsHandle>63BC</NewPnsHandle></PnsFeedback>"
        )
    }

    @Test func `a container is listed as blob storage lists it`() {
        let empty = ContainerListing(serviceEndpoint: "https://h/", containerName: "news")
        #expect(
            empty.xml
                == #"<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://h/" ContainerName="news"><Blobs/><NextMarker/></EnumerationResults>"#
        )
        let file = ContainerListing.File(name: "a&b.txt", length: 7, modifiedAt: 1_893_456_000_000)
        let listing = ContainerListing(serviceEndpoint: "https://h/", containerName: "n\"s", files: [file])
        #expect(
            listing.xml
                == #"<?xml version="1.0" encoding="utf-8"?><EnumerationResults ServiceEndpoint="https://h/" ContainerName="n&quot;s"><Blobs><Blob><Name>a&amp;b.txt</Name><Properties><Last-Modified>Tue, 01 Jan 2030 00:00:00 GMT</Last-Modified><Content-Length>7</Content-Length><Content-Type>application/octet-stream</Content-Type><BlobType>BlockBlob</BlobType></Properties></Blob></Blobs><NextMarker/></EnumerationResults>"#
        )
    }

    @Test func `a container is listed in JSON and Atom, too`() {
        let address = RequestAddress(origin: "https://h", path: "/news/feedback", query: "sig=a%2B&se=1")
        let file = ContainerListing.File(name: "01012030", length: 7, modifiedAt: 1_893_456_000_000)
        let listing = ContainerListing(serviceEndpoint: "https://h/", containerName: "news", files: [file])
        let url = "https://h/news/feedback/01012030?sig=a%2B&se=1"
        #expect(
            listing.json(at: address).text == """
                {"containerName":"news","files":[{"name":"01012030","url":"\(url)","contentLength":7,\
                "lastModified":"2030-01-01T00:00:00Z"}]}
                """
        )
        #expect(
            listing.atom(at: address, date: Date(timeIntervalSince1970: 1_893_456_060)) == """
                <feed xmlns="http://www.w3.org/2005/Atom"><title>Feedback</title><id>https://h/news/feedback</id>\
                <updated>2030-01-01T00:01:00Z</updated><author><name>news</name></author>\
                <link rel="self" href="https://h/news/feedback?sig=a%2B&amp;se=1"/>\
                <entry><id>https://h/news/feedback/01012030</id><title>01012030</title>\
                <updated>2030-01-01T00:00:00Z</updated>\
                <link rel="alternate" type="application/octet-stream" length="7" \
                href="\(url.replacing("&", with: "&amp;"))"/></entry></feed>
                """
        )
    }

    @Test(arguments: [
        (nil, AcceptedForm.standard), ("", .standard), ("*/*", .standard), ("text/plain", .standard),
        ("application/json", .json), ("Application/JSON; charset=utf-8", .json), ("application/atom+xml", .atom),
        ("text/html, application/json;q=0.9", .standard), ("application/json;q=0.5, application/atom+xml", .atom),
        ("application/json, application/atom+xml", .json), ("application/json;q=0", .standard),
        ("application/json;q=x", .json),
    ])
    func `the form of a reply is the one that is wanted most`(header: String?, form: AcceptedForm) {
        #expect(AcceptedForm(accept: header) == form)
    }

    @Test(
        arguments: [
            (21_991, 1, "03182030"), (21_991, 12, "03182030-12"), (0, 1, "01011970"), (19_782, 2, "02292024-2"),
        ]
    )
    func `a file of a container is named for its day`(day: Int64, number: Int, name: String) {
        #expect(FeedbackFileName(day: day, number: number).description == name)
        #expect(FeedbackFileName(name) == FeedbackFileName(day: day, number: number))
    }

    @Test(
        arguments: [
            "", "-", "0318203", "031820300", "13012030", "02292023", "03182030-", "03182030-0", "03182030-1",
            "03182030-+2", "03182030-02", "0318203x", "٠٣١٨٢٠٣٠",
        ]
    )
    func `a text that is not the name of a file is refused`(name: String) {
        #expect(FeedbackFileName(name) == nil)
    }
}
