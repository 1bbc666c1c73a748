import Testing

@testable import HubProtocol

@Suite struct NotificationHubJobTests {
    private static let service = "http://schemas.microsoft.com/netservices/2010/10/servicebus/connect"
    private static let instance = "http://www.w3.org/2001/XMLSchema-instance"
    private static let time = Timestamp(milliseconds: 1_593_713_008_200)

    private static func entry(_ inner: String) -> [UInt8] {
        """
        <?xml version="1.0" encoding="utf-8"?><entry xmlns="http://www.w3.org/2005/Atom"><content \
        type="application/atom+xml;type=entry;charset=utf-8"><NotificationHubJob xmlns:i="\(instance)" \
        xmlns="\(service)">\(inner)</NotificationHubJob></content></entry>
        """.bytes
    }

    @Test func `a job that has just begun is written as the service writes it`() throws {
        let job = NotificationHubJob(
            id: "25-a",
            request: .init(
                kind: .importCreateRegistrations,
                outputContainerURI: "https://x.blob.core.windows.net/c?sv=1&sig=%2F",
                importFileURI: "in.txt"
            ),
            createdAt: Self.time,
            updatedAt: Self.time
        )
        #expect(
            job.entry(of: "https://h/news", query: "?api-version=2017-04").xml == """
                <entry xmlns="http://www.w3.org/2005/Atom"><id>https://h/news/jobs/25-a?api-version=2017-04</id>\
                <title type="text">25-a</title><published>2020-07-02T18:03:28Z</published><updated>2020-07-02T18:03:28Z</updated>\
                <link rel="self" href="https://h/news/jobs/25-a?api-version=2017-04"/><content type="application/xml">\
                <NotificationHubJob xmlns="\(Self.service)" xmlns:i="\(Self.instance)"><JobId>25-a</JobId>\
                <Type>ImportCreateRegistrations</Type>\
                <OutputContainerUri>https://x.blob.core.windows.net/c?sv=1&amp;sig=%2F</OutputContainerUri>\
                <ImportFileUri>in.txt</ImportFileUri><CreatedAt>2020-07-02T18:03:28.2Z</CreatedAt>\
                <UpdatedAt>2020-07-02T18:03:28.2Z</UpdatedAt></NotificationHubJob></content></entry>
                """
        )
    }

    @Test func `a finished job has all elements, in the order that dotNET reads and with the prefix that Java reads`() {
        let job = NotificationHubJob(
            id: "1",
            request: .init(
                kind: .exportRegistrations,
                outputContainerURI: "https://c",
                inputProperties: ["b": "2", "a": "<1>"]
            ),
            status: .failed,
            progress: 9_901,
            failure: "disk & co",
            outputProperties: ["FailedFilePath": "/h/1/Failed.txt", "Extra": "x", "OutputFilePath": "/h/1/Output.txt"],
            createdAt: Self.time,
            updatedAt: Self.time + .milliseconds(800)
        )
        let arrays = "http://schemas.microsoft.com/2003/10/Serialization/Arrays"
        func pair(_ key: String, _ value: String) -> String {
            "<d3p1:KeyValueOfstringstring><d3p1:Key>\(key)</d3p1:Key><d3p1:Value>\(value)</d3p1:Value></d3p1:KeyValueOfstringstring>"
        }
        #expect(
            job.xml == """
                <NotificationHubJob xmlns="\(Self.service)" xmlns:i="\(Self.instance)"><JobId>1</JobId>\
                <Progress>99.01</Progress><Type>ExportRegistrations</Type><Status>Failed</Status>\
                <OutputContainerUri>https://c</OutputContainerUri><InputProperties xmlns:d3p1="\(arrays)">\
                \(pair("a", "&lt;1&gt;"))\(pair("b", "2"))</InputProperties><Failure>disk &amp; co</Failure>\
                <OutputProperties xmlns:d3p1="\(arrays)">\(pair("OutputFilePath", "/h/1/Output.txt"))\
                \(pair("FailedFilePath", "/h/1/Failed.txt"))\(pair("Extra", "x"))</OutputProperties>\
                <CreatedAt>2020-07-02T18:03:28.2Z</CreatedAt><UpdatedAt>2020-07-02T18:03:29Z</UpdatedAt></NotificationHubJob>
                """
        )
    }

    @Test(arguments: [(0, ""), (1, "0.01"), (100, "1"), (5_050, "50.50"), (10_000, "100")])
    func `progress is a decimal`(progress: Int, text: String) {
        var job = NotificationHubJob(
            id: "1",
            request: .init(kind: .exportRegistrations, outputContainerURI: "c"),
            createdAt: Self.time,
            updatedAt: Self.time
        )
        job.progress = progress
        #expect(job.xml.contains("<Progress>\(text)</Progress>") == !text.isEmpty)
    }

    @Test func `requests are read as Java and dotNET write them`() throws {
        let java = try NotificationHubJob.Request(
            xml: Self.entry(
                """
                <Type>ImportUpsertRegistrations</Type><OutputContainerUri><![CDATA[https://c?a=1&b=2]]></OutputContainerUri>\
                <ImportFileUri><![CDATA[https://c/In.txt?s=1&t]]></ImportFileUri>
                """
            )
        )
        #expect(java.kind == .importUpsertRegistrations)
        #expect(java.outputContainerURI == "https://c?a=1&b=2" && java.importFileURI == "https://c/In.txt?s=1&t")
        let dotNET = try NotificationHubJob.Request(
            xml: Self.entry(
                """
                <OutputContainerUri>https://c?a=1&amp;b=2</OutputContainerUri><Type>ExportRegistrations</Type><InputProperties \
                xmlns:d2p1="http://schemas.microsoft.com/2003/10/Serialization/Arrays"><d2p1:KeyValueOfstringstring>\
                <d2p1:Key>k</d2p1:Key><d2p1:Value>v</d2p1:Value></d2p1:KeyValueOfstringstring></InputProperties>
                """
            )
        )
        #expect(dotNET.kind == .exportRegistrations && dotNET.importFileURI == nil)
        #expect(dotNET.inputProperties == ["k": "v"])
    }

    @Test(arguments: [
        ("<OutputContainerUri>c</OutputContainerUri>", "no Type"),
        ("<Type>Paint</Type><OutputContainerUri>c</OutputContainerUri>", "'Paint' is not one of ExportRegistrations,"),
        ("<Type>ExportRegistrations</Type>", "no OutputContainerUri"),
        ("<Type>ImportDeleteRegistrations</Type><OutputContainerUri>c</OutputContainerUri>", "needs an ImportFileUri"),
        (
            "<Type>ExportRegistrations</Type><OutputContainerUri>\(String(repeating: "c", count: 4_097))</OutputContainerUri>",
            "longer than 4096"
        ),
    ])
    func `a body that is not a job is refused with the reason`(inner: String, says: String) {
        let error = #expect(throws: ProtocolError.self) { try NotificationHubJob.Request(xml: Self.entry(inner)) }
        #expect(error?.detail.contains(says) == true, "\(error?.detail ?? "")")
    }
}
