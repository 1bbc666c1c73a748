internal import HostSystem
internal import HubProtocol

extension FeedLists {
    /// The category of feeds that are tried before they are added to a list.
    package static let trialCategory = "Trial"

    /// The lists of one category, or all lists without a category.
    ///
    /// - Throws: ``FeedChoiceError`` when there is no such list; the error names the nearest.
    package func chosen(category: String?) throws(FeedChoiceError) -> FeedLists {
        guard let category else { return self }
        let folded = (try? Tag(category))?.folded
        let matching = lists.filter { $0.category.folded == folded }
        guard matching.isEmpty else { return FeedLists(matching) }
        let known = categories.map(\.text)
        let nearest = NearestName.of(category, among: known).map { ", did you mean '\($0)'?" } ?? ""
        throw FeedChoiceError("no feed list has the category '\(category)'\(nearest)")
    }

    /// Returns the feeds with these addresses; an address in no list becomes a feed of ``trialCategory``.
    ///
    /// - Parameters:
    ///   - urls: The addresses; all feeds when empty.
    ///   - isLocal: True if addresses that are in no list may be private or files.
    ///   - hasCategory: True if these lists were chosen by category; a new address is then added to the first list.
    /// - Returns: The lists that have a chosen feed.
    /// - Throws: ``FeedChoiceError`` for an invalid address.
    package func chosen(urls: [String], isLocal: Bool, hasCategory: Bool) throws(FeedChoiceError) -> FeedLists {
        guard !urls.isEmpty else { return self }
        var wanted: [FeedAddress] = []
        for url in urls {
            do throws(FeedAddressError) {
                wanted.append(try FeedAddress(parsing: url, allowsFile: true))
            } catch {
                throw FeedChoiceError("'\(url)' \(error)")
            }
        }
        let comparables = Set(wanted.map(\.comparable))
        var chosen = lists.map { $0.with($0.feeds.filter { comparables.contains($0.address.comparable) }) }
        let listed = Set(chosen.flatMap(\.feeds).map(\.address.comparable))
        var trials: [FeedSource] = []
        for address in wanted where !listed.contains(address.comparable) {
            guard isLocal || !address.isFile else {
                throw FeedChoiceError("'\(address.display)' is a file", isFile: true)
            }
            let isRepeat = trials.contains { $0.address.comparable == address.comparable }
            if isRepeat { continue }
            trials.append(FeedSource(address: address, interval: nil, isLocal: isLocal, title: nil, line: nil))
        }
        if !trials.isEmpty {
            if hasCategory, let first = chosen.first {
                chosen[0] = first.with(first.feeds + trials)
            } else {
                chosen.append(try Self.trial(trials))
            }
        }
        return FeedLists(chosen.filter { !$0.feeds.isEmpty })
    }

    private static func trial(_ feeds: [FeedSource]) throws(FeedChoiceError) -> FeedList {
        guard let category = try? Tag(trialCategory),
            let template = try? InlineTemplate(parsing: FeedList.standardTemplate)
        else { throw FeedChoiceError("the standard template cannot be used") }
        return FeedList(file: "your list", category: category, template: template, feeds: feeds)
    }
}

extension FeedList {
    fileprivate func with(_ feeds: [FeedSource]) -> FeedList {
        var list = self
        list.feeds = feeds
        return list
    }
}

/// An invalid choice of feeds; exit code 64.
package struct FeedChoiceError: Error, Sendable, CustomStringConvertible {
    package let description: String
    /// True if the choice is valid where files are allowed.
    package let isFile: Bool

    init(_ description: String, isFile: Bool = false) {
        self.description = description
        self.isFile = isFile
    }
}
