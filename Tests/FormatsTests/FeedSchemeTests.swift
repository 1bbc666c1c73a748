import Formats
import Testing

@Suite struct FeedSchemeTests {
    @Test(arguments: [
        ("feed://a.org/x", "http://a.org/x"), ("feed:https://a.org/x", "https://a.org/x"),
        ("FEED:HTTP://A.org", "HTTP://A.org"), ("feed://https://a.org/x", "https://a.org/x"),
        ("feed: https://a.org/", "https://a.org/"), ("https://a.org/feed:x", "https://a.org/feed:x"),
        ("feeds/x", "feeds/x"), ("feed", "feed"), ("feed:", ""), ("feed://https/x", "http://https/x"), ("", ""),
    ])
    func `an address of a feed becomes one of the web`(text: String, expected: String) {
        #expect(FeedScheme.webAddress(text) == expected)
    }
}
