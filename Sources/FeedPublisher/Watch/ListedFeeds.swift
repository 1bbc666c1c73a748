internal import FeedLists
internal import Synchronization

/// The feed lists of a publisher that keeps running; they may change while it runs.
final class ListedFeeds: Sendable {
    private struct State {
        var lists: FeedLists
        var feeds: [String: ListedFeed] = [:]
    }

    private let state: Mutex<State>

    init(_ lists: FeedLists) { state = Mutex(Self.state(lists)) }

    var lists: FeedLists { state.withLock { $0.lists } }

    /// Returns the feed with an address, as written in its list.
    subscript(_ url: String) -> ListedFeed? { state.withLock { $0.feeds[url] } }

    func replace(by lists: FeedLists) {
        let new = Self.state(lists)
        state.withLock { $0 = new }
    }

    private static func state(_ lists: FeedLists) -> State {
        let pairs = lists.feeds.map { ($0.source.address.text, $0) }
        return State(lists: lists, feeds: Dictionary(pairs) { first, _ in first })
    }
}
