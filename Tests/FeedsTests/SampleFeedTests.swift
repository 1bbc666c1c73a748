import Foundation
import Testing

@testable import Feeds

/// The documents of `feeds/samples`: what the demonstration relies on.
struct SampleFeedTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "feeds/samples")

    private func sample(_ name: String, url: String = "https://news.example/feed") throws -> Feed {
        let data = try Data(contentsOf: Self.folder.appending(path: name))
        return try FeedReader.read(Array(data), url: url, contentType: nil)
    }

    @Test(arguments: [
        ("world", "rss", "rss-2.0", 3), ("politics", "rdf", "rss-1.0", 2), ("business", "rss", "rss-2.0", 2),
        ("technology", "json", "json-1.1", 3), ("science", "atom", "atom-1.0", 2), ("sports", "rss", "rss-2.0", 3),
    ])
    func `the later document adds its new entries to the baseline`(
        category: String,
        suffix: String,
        format: String,
        new: Int
    ) throws {
        let url = "https://\(category).example.org/feed"
        let baseline = try sample("\(category)-baseline.\(suffix)", url: url)
        let later = try sample("\(category).\(suffix)", url: url)
        for feed in [baseline, later] {
            #expect(feed.format.description == format)
            #expect(feed.isComplete && feed.malformed == nil)
            #expect(feed.entries.allSatisfy { $0.id != nil && $0.title != nil && $0.link != nil && $0.date != nil })
            #expect(feed.entries.allSatisfy { $0.summary != nil })
        }
        #expect(baseline.entries.count == 3)
        #expect(Array(later.entries.suffix(3)) == baseline.entries)
        let known = Set(baseline.keys().map(\.key))
        #expect(later.keys().filter { !known.contains($0.key) }.map(\.index) == Array(0..<new))
    }
}
