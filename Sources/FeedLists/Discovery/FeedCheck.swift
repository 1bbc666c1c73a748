package import Feeds
internal import Foundation

/// The outcome of reading one document.
package enum FeedCheck {
    case feed(Feed)
    /// The reason why the document contains no feed, and the feeds that a web page names.
    case problem(String, discovered: [String]?)

    package init(reading body: [UInt8], url: String, contentLocation: String? = nil, contentType: String?) {
        do {
            self = .feed(
                try FeedReader.read(body, url: url, contentLocation: contentLocation, contentType: contentType)
            )
        } catch {
            var discovered: [String]?
            if case .html(let addresses) = error { discovered = addresses }
            self = .problem("\(error)", discovered: discovered)
        }
    }

    /// The result of the check for programs, as one JSON object; `file` is the document's name in a list.
    package func report(file: String?) -> any Encodable {
        switch self {
        case .feed(let feed): Document(feed: feed, file: file)
        case .problem(let reason, let discovered): Problem(file: file, error: reason, discover: discovered)
        }
    }

    private struct Problem: Encodable {
        let file: String?
        let error: String
        let discover: [String]?
    }

    private enum Member: String, CodingKey {
        case file, format, title, link, language, hubs, ttl, malformed, complete, truncated, entries, cap
        case id, summary, published, updated, date, categories, enclosures, author, image
        case selfURL = "self"
        case malformedWhy = "malformed_why"
    }

    private struct Document: Encodable {
        let feed: Feed
        let file: String?

        func encode(to encoder: any Encoder) throws {
            let isAlert = feed.format.family == .cap
            var members = encoder.container(keyedBy: Member.self)
            try members.encodeIfPresent(file, forKey: .file)
            try members.encode(feed.format.description, forKey: .format)
            try members.encodeIfPresent(feed.title, forKey: .title)
            try members.encodeIfPresent(feed.link, forKey: .link)
            try members.encodeIfPresent(feed.language, forKey: .language)
            try members.encodeIfPresent(feed.selfURL, forKey: .selfURL)
            try members.encode(feed.hubs, forKey: .hubs)
            try members.encodeIfPresent(feed.ttl, forKey: .ttl)
            try members.encode(feed.malformed != nil, forKey: .malformed)
            try members.encodeIfPresent(feed.malformed, forKey: .malformedWhy)
            try members.encode(feed.isComplete, forKey: .complete)
            try members.encode(feed.isTruncated, forKey: .truncated)
            try members.encode(feed.entries.map { Item(entry: $0, repeatsAlert: !isAlert) }, forKey: .entries)
            if isAlert { try members.encodeIfPresent(feed.entries.first?.alert, forKey: .cap) }
        }
    }

    /// The entry's own values, without the feed's author and without pictures in the entry's text.
    private struct Item: Encodable {
        /// The longest summary, in characters.
        private static let summaryLimit = 300

        let entry: Entry
        let repeatsAlert: Bool

        func encode(to encoder: any Encoder) throws {
            var members = encoder.container(keyedBy: Member.self)
            try members.encodeIfPresent(entry.id, forKey: .id)
            try members.encodeIfPresent(entry.title, forKey: .title)
            try members.encodeIfPresent(entry.link, forKey: .link)
            try members.encodeIfPresent(entry.summary(limit: Self.summaryLimit), forKey: .summary)
            try members.encodeIfPresent(entry.published, forKey: .published)
            try members.encodeIfPresent(entry.updated, forKey: .updated)
            try members.encodeIfPresent(entry.date, forKey: .date)
            try members.encode(entry.categories, forKey: .categories)
            try members.encode(entry.enclosures, forKey: .enclosures)
            try members.encodeIfPresent(entry.byline?.name ?? entry.byline?.mail, forKey: .author)
            try members.encodeIfPresent(entry.ownImage, forKey: .image)
            if repeatsAlert { try members.encodeIfPresent(entry.alert, forKey: .cap) }
        }
    }
}
