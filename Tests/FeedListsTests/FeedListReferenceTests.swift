import Foundation
import HubProtocol
import Testing

@testable import FeedLists

@Suite struct FeedListReferenceTests {
    private static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "docs/feed-lists.md")

    @Test(arguments: ["list", "feed"])
    func `the reference in docs is the code's own table`(part: String) throws {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let table = FeedListKey.table(part == "list" ? FeedListKey.list : FeedListKey.feed)
        #expect(text.contains(table), "docs/feed-lists.md should hold:\n\(table)")
    }

    private func example(_ position: Int) throws -> FeedList {
        let text = try String(contentsOf: Self.page, encoding: .utf8)
        let start = text.ranges(of: "```yaml\n")[position].upperBound
        let end = try #require(text[start...].firstRange(of: "```")).lowerBound
        let lists = try FeedLists.parse([(file: "docs/feed-lists.md", text: String(text[start..<end]))])
        return try #require(lists.lists.first)
    }

    @Test func `the example of two languages can be used`() throws {
        let list = try example(3)
        #expect(list.feeds.map { $0.language?.text } == [nil, "French"])
        #expect(list.localization.templates.count == 1 && list.localization.main?.text == "English")
    }

    @Test func `the examples in docs can be used`() throws {
        #expect(try example(0).feeds.map { $0.interval?.description } == ["15m"])
        let feeds = try example(1).feeds
        #expect(feeds.map(\.rules.filters.count) == [1, 2])
        #expect(feeds.map(\.rules.announcesUpdates) == [false, true])
        #expect(feeds.map(\.isByAgreement) == [false, true])
        #expect(feeds.map { $0.interval?.description } == ["15m", "5m"])
        let access = try example(2).feeds.map(\.access)
        #expect(access.map(\.headers.count) == [1, 0] && access.map(\.keepsCookies) == [true, false])
        #expect(access.map { $0.authorityFile } == [nil, "/etc/newswire/intranet-ca.pem"])
    }
}
