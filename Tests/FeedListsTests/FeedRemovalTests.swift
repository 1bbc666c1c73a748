import Testing

@testable import FeedLists

struct FeedRemovalTests {
    private func removed(_ index: Int, from text: String) throws -> String {
        try FeedListText(file: "a.yaml", text: text).removing(index).text
    }

    @Test func `a feed goes with its own lines, and all others stay`() throws {
        let last = "\n# second\n- url: http://b.example/\ncategory: W\n"
        let text = "feeds:\n- url: http://a.example/\n  every: 1h # slow\n\(last)"
        #expect(try removed(0, from: text) == "feeds:\n\(last)")
        let first = "feeds:\n- url: http://a.example/\n  every: 1h # slow\n\n# second\ncategory: W\n"
        #expect(try removed(1, from: text) == first)
        #expect(try removed(0, from: first) == "feeds: []\n\n# second\ncategory: W\n")
        let windows = "category: W\r\nfeeds:\r\n  - url: http://a.example/\r\n"
        #expect(try removed(0, from: windows) == "category: W\r\nfeeds: []\r\n")
    }

    @Test func `a list in another style, or without the feed, is not changed`() {
        for text in [
            "category: W\nfeeds: [{url: http://a.example/}, {url: http://b.example/}]\n", "category: W\nfeeds: []\n",
            "category: W\nfeeds:\n- {url: http://a.example/}\n- {url: http://b.example/\n  }\n- url: x\n  y: [", "",
        ] {
            #expect(throws: FeedListShapeError.self, "\(text)") { try removed(1, from: text) }
        }
    }
}
