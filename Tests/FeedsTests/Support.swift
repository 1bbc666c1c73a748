import FoundationEssentials

@testable import Feeds

func read(_ text: String, url: String = "https://news.example/feed", contentType: String? = nil) throws -> Feed {
    try FeedReader.read(Array(text.utf8), url: url, contentType: contentType)
}

/// The form of RFC 3339 in UTC, which reads better in a failure than seconds do.
func text(_ date: Date?) -> String? {
    date?.formatted(.iso8601)
}
