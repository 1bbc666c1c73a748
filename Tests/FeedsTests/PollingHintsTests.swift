import Testing

@testable import Feeds

@Suite struct PollingHintsTests {
    private func hints(_ channel: String, root: String = "rss version=\"2.0\"") throws -> PollingHints {
        let name = root.prefix { $0 != " " }
        let text = """
            <?xml version="1.0"?><\(root) xmlns:sy="http://purl.org/rss/1.0/modules/syndication/">
            <channel><title>t</title>\(channel)</channel></\(name)>
            """
        return try FeedReader.read(Array(text.utf8), url: "https://news.example/", contentType: nil).hints
    }

    @Test func `skipped hours and days are read, and 24 is midnight`() throws {
        let hints = try hints(
            """
            <skipHours><hour>0</hour><hour> 7 </hour><hour>24</hour><hour>25</hour><hour>-1</hour><hour>x</hour></skipHours>
            <skipDays><day>Saturday</day><day> sunday </day><day>Samstag</day></skipDays>
            """
        )
        #expect(hints == PollingHints(skipHours: [0, 7], skipDays: [6, 0]))
    }

    @Test(
        arguments: [
            ("<sy:updatePeriod>hourly</sy:updatePeriod><sy:updateFrequency>1</sy:updateFrequency>", 60),
            ("<sy:updatePeriod>\n\tHourly\t</sy:updatePeriod><sy:updateFrequency>4</sy:updateFrequency>", 15),
            ("<sy:updatePeriod>weekly</sy:updatePeriod>", 10_080),
            ("<sy:updateFrequency>2</sy:updateFrequency>", 720),
            ("<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>9999</sy:updateFrequency>", 1),
            ("<sy:updatePeriod>daily</sy:updatePeriod><sy:updateFrequency>0</sy:updateFrequency>", nil),
            ("<sy:updatePeriod>fortnightly</sy:updatePeriod>", nil),
            ("<sy:updateBase>2000-01-01T12:00+00:00</sy:updateBase>", nil),
        ] as [(String, Int?)]
    )
    func `the update interval is period by frequency`(channel: String, minutes: Int?) throws {
        #expect(try hints(channel) == PollingHints(updateMinutes: minutes))
    }

    @Test func `a feed that says nothing has no hints`() throws {
        #expect(try hints("") == PollingHints())
    }
}
