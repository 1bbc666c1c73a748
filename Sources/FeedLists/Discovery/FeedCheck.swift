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
        case .feed(let feed): Document(feed, file: file)
        case .problem(let reason, let discovered): Problem(file: file, error: reason, discover: discovered)
        }
    }

    fileprivate struct Problem: Encodable {
        let file: String?
        let error: String
        let discover: [String]?
    }

    fileprivate struct Document: Encodable {
        let file: String?
        let format: String
        let title: String?
        let link: String?
        let language: String?
        let selfURL: String?
        let hubs: [String]
        let ttl: Int?
        let malformed: Bool
        let malformedWhy: String?
        let complete: Bool
        let truncated: Bool
        let entries: [Item]
        let cap: Alert?

        enum CodingKeys: String, CodingKey {
            case file, format, title, link, language, hubs, ttl, malformed, complete, truncated, entries, cap
            case selfURL = "self"
            case malformedWhy = "malformed_why"
        }
    }

    fileprivate struct Item: Encodable {
        let id: String?
        let title: String?
        let link: String?
        let summary: String?
        let published: Date?
        let updated: Date?
        let date: Date?
        let categories: [String]
        let enclosures: [Enclosure]
        let author: String?
        let image: String?
        let cap: Alert?
    }
}

extension FeedCheck.Document {
    init(_ feed: Feed, file: String?) {
        let isAlert = feed.format.family == .cap
        self.init(
            file: file,
            format: feed.format.description,
            title: feed.title,
            link: feed.link,
            language: feed.language,
            selfURL: feed.selfURL,
            hubs: feed.hubs,
            ttl: feed.ttl,
            malformed: feed.malformed != nil,
            malformedWhy: feed.malformed,
            complete: feed.isComplete,
            truncated: feed.isTruncated,
            entries: feed.entries.map { FeedCheck.Item($0, repeatsAlert: !isAlert) },
            cap: isAlert ? feed.entries.first?.alert : nil
        )
    }
}

extension FeedCheck.Item {
    /// The longest summary, in characters.
    private static let summaryLimit = 300

    /// Reads the entry's own values, without the feed's author and without pictures in the entry's text.
    init(_ entry: Entry, repeatsAlert: Bool) {
        self.init(
            id: entry.id,
            title: entry.title,
            link: entry.link,
            summary: entry.summary(limit: Self.summaryLimit),
            published: entry.published,
            updated: entry.updated,
            date: entry.date,
            categories: entry.categories,
            enclosures: entry.enclosures,
            author: entry.byline?.name ?? entry.byline?.mail,
            image: entry.ownImage,
            cap: repeatsAlert ? entry.alert : nil
        )
    }
}
