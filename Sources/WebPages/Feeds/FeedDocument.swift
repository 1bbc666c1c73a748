import Formats
package import HubProtocol

/// The feed of a tag, independent of its format.
package struct FeedDocument: Sendable {
    /// An entry that was in the feed and was withdrawn.
    struct Withdrawal: Sendable {
        let id: String
        let at: Timestamp
    }

    /// The paths of a hub's page and feeds.
    package struct Place: Sendable {
        /// The path of the hub's page, which begins and ends with a slash.
        package let page: String
        private let folder: String
        private let name: String

        package init(hub: String, tag: String) {
            page = "/-/\(PercentEncoding.encode(hub))/"
            folder = page + "feeds/"
            name = PercentEncoding.encode(tag)
        }

        package func feed(_ type: FeedFileType) -> String { "\(folder)\(name).\(type.rawValue)" }
    }

    let id: String
    let title: String
    let summary: String
    /// The author of entries that name none.
    let author: String
    package let place: Place
    /// The entries, newest first.
    let entries: [FeedEntry]
    /// The withdrawn entries, newest first.
    let withdrawals: [Withdrawal]
    /// When an entry was last added, changed or withdrawn.
    package let updated: Timestamp
    /// The WebSub hub that pushes the feed to its subscribers.
    let webSubHub: String?

    /// - Parameters:
    ///   - timeline: The news.
    ///   - dropped: The place up to which the hub's log has dropped messages; older news is omitted.
    ///   - tag: The tag as spelled in the hub's list of categories.
    ///   - hub: The hub's name.
    ///   - scope: Distinguishes the hub from all others (``StoryID``).
    ///   - begin: The date of a feed without entries.
    ///   - webSubHub: The valid URL of a WebSub hub; `nil` without one.
    package init(
        _ timeline: NewsTimeline,
        after dropped: LogSequence,
        tag: Tag,
        hub: String,
        scope: String,
        begin: Timestamp,
        webSubHub: String?
    ) {
        id = StoryID(.feed, tag.folded, scope: scope).urn
        title = tag.text
        summary = "The newest messages of \(tag.text) from the hub \(hub)."
        author = hub
        place = Place(hub: hub, tag: tag.text)
        entries = timeline.stories(after: dropped).map { FeedEntry($0, tag: tag.text) }
        withdrawals = timeline.withdrawals(after: dropped).map { Withdrawal(id: $0.id.urn, at: $0.at) }
        updated = (entries.map(\.updated) + withdrawals.map(\.at)).max() ?? begin
        self.webSubHub = webSubHub
    }

    /// Writes the document in a format.
    package func rendered(as type: FeedFileType) -> RenderedFeed {
        let text =
            switch type {
            case .rss: rss
            case .atom: atom
            case .json: json
            }
        return RenderedFeed(text)
    }

    /// The feed's own address.
    func own(_ type: FeedFileType) -> String { RenderedFeed.origin + place.feed(type) }

    /// The address of the page that shows the same news.
    var page: String { RenderedFeed.origin + place.page }
}

/// A story as a feed entry.
struct FeedEntry: Sendable {
    let id: String
    let title: String
    let text: String?
    let link: String?
    let image: String?
    let author: String?
    let category: String
    let published: Timestamp
    let updated: Timestamp

    init(_ storyVersion: StoryVersion, tag: String) {
        let content = storyVersion.text
        (title, text, link, image) = (content.title, content.text, content.link, content.image)
        (author, category) = (content.author, content.category ?? tag)
        (id, published, updated) = (storyVersion.id.urn, storyVersion.published, storyVersion.at)
    }
}
