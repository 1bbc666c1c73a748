/// A feed with the lists that have it: it is fetched once, and each list judges its entries.
package struct ListedFeed: Sendable {
    /// A list that has the feed, and the feed as written in it.
    package struct Member: Sendable {
        package let list: FeedList
        package let source: FeedSource
    }

    /// In the order of the lists; at least one.
    package private(set) var members: [Member]
    /// The feed as it is fetched: as in the first list, at the shortest interval of all.
    package private(set) var source: FeedSource

    package init(_ list: FeedList, _ source: FeedSource) {
        members = [Member(list: list, source: source)]
        self.source = source
    }

    /// The first list that has the feed.
    package var list: FeedList { members[0].list }

    fileprivate mutating func add(_ list: FeedList, _ source: FeedSource) {
        members.append(Member(list: list, source: source))
        self.source.interval = min(self.source.interval ?? .standard, source.interval ?? .standard)
    }
}

extension FeedLists {
    /// The feeds of all lists, each once, in the order in which the lists name them first.
    package var feeds: [ListedFeed] {
        var feeds: [ListedFeed] = []
        var positions: [String: Int] = [:]
        for list in lists {
            for source in list.feeds {
                if let position = positions[source.address.comparable] {
                    feeds[position].add(list, source)
                } else {
                    positions[source.address.comparable] = feeds.count
                    feeds.append(ListedFeed(list, source))
                }
            }
        }
        return feeds
    }
}

extension FeedSource {
    /// The keys that say how the feed is fetched, apart from its interval, with their values.
    ///
    /// They must be the same in all lists that have the feed. The values are for comparison only: some are secret.
    var fetchKeys: [(name: String, value: String)] {
        [
            ("local", "\(isLocal)"), ("by-agreement", "\(isByAgreement)"),
            ("headers", access.headers.map { "\($0.name): \($0.value)" }.sorted().joined(separator: "\n")),
            ("headers-file", access.headersFile ?? ""), ("user-agent", access.userAgent ?? ""),
            ("cookies", "\(access.keepsCookies)"), ("authority-file", access.authorityFile ?? ""),
        ]
    }

    /// The names of the keys by which the feed would be fetched in another way.
    func differences(from other: FeedSource) -> [String] {
        zip(fetchKeys, other.fetchKeys).filter { $0.value != $1.value }.map(\.0.name)
    }
}
