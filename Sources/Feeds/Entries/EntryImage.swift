internal import Markup

/// Finds the picture of an entry.
enum EntryImage {
    /// Addresses of tracking pixels, which count readers and show nothing.
    private static let trackers = [
        "feedburner.com/~r", "feedsportal.com", "doubleclick.net", "pixel.wp.com", "stats.wordpress.com",
        "feeds.wordpress.com", "google-analytics.com", "/pixel.", "scorecardresearch.com",
    ]

    /// The largest number of pictures examined in one text.
    private static let candidates = 20

    static func isImage(_ enclosure: Enclosure) -> Bool {
        enclosure.type?.lowercased().hasPrefix("image/") ?? false
    }

    /// The first picture in HTML that is not a tracking pixel.
    static func first(in text: FeedText, base: URLReference?) -> String? {
        guard let html = text.markup else { return nil }
        var tokens = HTMLTokenizer(html)
        var seen = 0
        while seen < candidates, let token = tokens.next() {
            guard case .start(let tag) = token, tag.name == "img" else { continue }
            seen += 1
            guard let link = FeedContext.link(tag.attribute("src"), base: base), !isTracker(link),
                !isDot(tag.attribute("width")), !isDot(tag.attribute("height"))
            else { continue }
            return link
        }
        return nil
    }

    private static func isTracker(_ link: String) -> Bool {
        trackers.contains { link.firstRange(of: $0) != nil }
    }

    private static func isDot(_ size: String?) -> Bool {
        size.flatMap { Int($0.prefix { $0.isNumber }) }.map { $0 <= 2 } ?? false
    }
}
