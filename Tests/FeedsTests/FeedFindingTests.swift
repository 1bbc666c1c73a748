import FoundationEssentials
import Testing

@testable import Feeds

struct FeedFindingTests {
    private static let now = Date(timeIntervalSince1970: 1_795_000_000)

    private func findings(_ items: String) throws -> [FeedFinding] {
        try read("<rss version='2.0'><channel><title>T</title>\(items)</channel></rss>").findings(now: Self.now)
    }

    @Test func `a feed in order has none`() throws {
        let item = """
            <item><guid>1</guid><title>a</title><link>https://x.example/1</link>
            <pubDate>Fri, 20 Nov 2020 10:00:00 GMT</pubDate></item>
            """
        #expect(try findings(item) == [])
    }

    @Test(arguments: [
        ("", [FeedFinding.empty]),
        (
            "<item><title>a</title></item>",
            [.withoutIdentifier(entries: 1), .withoutLink(entries: 1), .withoutDate(entries: 1)]
        ),
        (
            "<item></item><item><guid>1</guid><title>a</title><link>http://x.example/</link><pubDate>2020</pubDate></item>",
            [
                .indistinguishable(entries: 1), .withoutTitle(entries: 1), .withoutLink(entries: 1),
                .withoutDate(entries: 1),
            ]
        ),
        (
            String(
                repeating:
                    "<item><guid>1</guid><title>a</title><link>http://x.example/</link><dc:date>2020</dc:date></item>",
                count: 2
            )
                + "<item><guid>2</guid><title>a</title><link>http://x.example/</link><dc:date>2999</dc:date></item>",
            [.repeatedIdentifier(entries: 1), .inTheFuture(entries: 1)]
        ),
    ])
    func `what is wrong is counted`(items: String, expected: [FeedFinding]) throws {
        let found = try findings(items)
        #expect(found.filter { if case .malformed = $0 { false } else { true } } == expected)
        #expect(!found.contains { $0.description.isEmpty })
    }

    @Test func `an identifier that says nothing is named once`() throws {
        let items = (0..<6).map {
            "<item><guid>home</guid><title>\($0)</title><link>http://x.example/\($0)</link></item>"
        }
        #expect(try findings(items.joined()).contains(.sharedIdentifier))
    }

    @Test func `damage is reported with its line`() throws {
        let cut = "<rss><channel>\n<item><guid>1</guid><title>a & b</title></item><item><guid>2"
        let found = try read(cut).findings(now: Self.now)
        guard case .malformed(let reason) = found.first else {
            Issue.record("no malformation found")
            return
        }
        #expect(reason.hasPrefix("line 2:") && found.dropFirst().first == .incomplete)
    }
}
