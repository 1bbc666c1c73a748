internal import FeedLists
internal import Feeds

/// The names at the ends of a document's titles: ` - Bravo Times`, ` | Bravo Times`.
///
/// The words behind a dash are often the news itself ("Verdict - not guilty"), so an ending is a name only if the
/// document says so: it is the title or site of the feed, or most of the document's titles have it.
struct PublisherNames: Sendable, Equatable {
    /// Marks before a name.
    private static let separators = [" - ", " – ", " — ", " | ", " · ", " • ", " :: ", " » "]
    /// Minimum number of titles with one ending that make it a name.
    private static let fewestTitles = 3

    /// Names as joined words.
    private var names: Set<String> = []

    init() {}

    /// Finds the names of a document.
    ///
    /// - Parameters:
    ///   - titles: All names that the feed has: its own title, and the one in its list.
    ///   - site: The host of the feed's page.
    ///   - headlines: The titles of the document's entries.
    init(titles: [String], site: String?, headlines: [String]) {
        for title in titles {
            names.insert(Self.joined(title))
            for separator in Self.separators {
                names.formUnion(title.split(separator: separator).map { Self.joined($0) })
            }
        }
        if let site {
            let labels = site.split(separator: ".")
            names.insert(labels.joined())
            names.insert(labels.drop { $0 == "www" }.joined())
            names.formUnion(labels.dropLast().map { Self.joined($0) })
        }
        // Folding is slow, and the same ending is often that of thousands of titles.
        var spellings: [Substring: Int] = [:]
        for headline in Set(headlines) {
            guard let mark = Self.lastMark(in: headline[...]) else { continue }
            spellings[headline[mark.upperBound...], default: 0] += 1
        }
        var endings: [String: Int] = [:]
        for (spelling, count) in spellings { endings[Self.joined(spelling), default: 0] += count }
        for (ending, count) in endings where count >= Self.fewestTitles && count * 2 >= headlines.count {
            names.insert(ending)
        }
        names.remove("")
    }

    /// Finds the names of a feed's document; `title` is its name in its list.
    init(of feed: Feed, title: String? = nil) {
        let site = feed.link.flatMap { try? FeedAddress(parsing: $0, allowsFile: false) }?.host
        self.init(
            titles: [title, feed.title].compactMap(\.self),
            site: site,
            headlines: feed.entries.compactMap(\.title)
        )
    }

    /// Returns a title without publishers' names at its end.
    func removed(from title: Substring) -> Substring {
        var title = title
        while let parts = Self.split(title), names.contains(Self.joined(parts.ending)) { title = parts.rest }
        return title
    }

    /// Returns the parts before and behind the last mark; `nil` if there are not two parts with words.
    static func split(_ title: some StringProtocol) -> (rest: Substring, ending: Substring)? {
        let title = Substring(title)
        guard let mark = lastMark(in: title) else { return nil }
        let (rest, ending) = (title[..<mark.lowerBound], title[mark.upperBound...])
        return FoldedWords.of(rest).isEmpty || FoldedWords.of(ending).isEmpty ? nil : (rest, ending)
    }

    /// Returns the last mark before a name.
    private static func lastMark(in title: Substring) -> Range<String.Index>? {
        let bytes = title.utf8
        var end = bytes.endIndex
        while let space = bytes[..<end].lastIndex(of: UInt8(ascii: " ")), space > bytes.startIndex {
            end = space
            // Most spaces follow a letter.
            let last = bytes[bytes.index(before: space)]
            guard last >= 0x80 || "-|:".utf8.contains(last) else { continue }
            let behind = bytes.index(after: space)
            for separator in separators.map(\.utf8) {
                guard let start = bytes.index(behind, offsetBy: -separator.count, limitedBy: bytes.startIndex),
                    bytes[start..<behind].elementsEqual(separator)
                else { continue }
                return start..<behind
            }
        }
        return nil
    }

    private static func joined(_ text: some StringProtocol) -> String { FoldedWords.of(text).joined() }
}
