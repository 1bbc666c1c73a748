import Formats
import HubProtocol
import HubTestServer
import Testing

@testable import WebPages

/// Feeds, read by a library that others wrote: `.ci/oracles`.
@Suite(.enabled(if: Oracle.python != nil, "'make oracles' installs the libraries"))
struct FeedOracleTests {
    private static let oracle = Oracle("feeds.py")

    @Test(arguments: FeedFileType.allCases)
    func `another reader finds the entries as they are`(type: FeedFileType) async throws {
        let document = try document(
            NewsTimeline([
                try storyVersion(
                    1,
                    [
                        "title": "Fire at AT&T", "summary": "Ships & cranes burn",
                        "link": "https://a.example/1?a=1&b=2",
                        "author": "Ann", "story": "s", "category": "World",
                    ]
                ),
                try storyVersion(
                    2,
                    ["title": "Zürich <script>alert(1)</script>", "messageParam": "東京 <img src=x onerror=y>"]
                ),
                try storyVersion(
                    3,
                    ["title": "Fire, put right", "story": "s", "status": "correction", "author": "Ann"]
                ),
            ]),
            webSubHub: "https://push.example/"
        )
        let entries = document.entries.map { entry in
            JSONText(sorted: [
                "id": entry.id, "title": entry.title, "link": entry.link ?? "", "author": entry.author ?? "",
                "published": entry.published.wholeSecond, "updated": entry.updated.wholeSecond,
            ])
        }
        let text = document.rendered(as: type).text(origin: "https://hub.example")
        let question: JSONText = [
            "type": JSONText(type.rawValue), "text": JSONText(text), "hub": "https://push.example/",
            "self": JSONText("https://hub.example/-/news/feeds/World.\(type)"), "entries": JSONText(array: entries),
        ]
        let verdict = try await Self.oracle.judge(question.text)
        #expect(verdict.status == 0, "\(verdict.output)")
    }

    @Test func `a wrong id is noticed`() async throws {
        let text = try document(NewsTimeline([try storyVersion(1, "a")])).rendered(as: .rss).text(origin: "https://h")
        let question: JSONText = [
            "type": "rss", "text": JSONText(text), "hub": "", "self": "https://h/-/news/feeds/World.rss",
            "entries": [["id": "urn:uuid:other", "title": "a"]],
        ]
        let verdict = try await Self.oracle.judge(question.text)
        #expect(verdict.status == 1)
        #expect(verdict.output.contains("urn:uuid:other"))
    }
}
