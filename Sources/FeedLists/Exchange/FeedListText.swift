internal import YAMLFiles
internal import Yams

/// The text of one feed list as its author wrote it, with comments, order and spacing.
struct FeedListText {
    let file: String
    let text: String

}

extension FeedListText {
    /// Creates the text of a new list; `members` are its keys without category and feeds.
    init(file: String, category: String, members: [ListMember], feeds: [[ListMember]]) {
        let head = [ListMember("category", .text(category))] + members
        let lines = head.map { "\(Self.key($0.name)): \($0.value.yaml)" }
        let body = feeds.isEmpty ? ["feeds: []"] : ["feeds:"] + Self.lines(feeds, indent: 2)
        self.init(file: file, text: (lines + body).joined(separator: "\n") + "\n")
    }

    /// All keys, in order; `nil` for a text that is not a list.
    var members: [ListMember]? {
        guard let root = try? YAMLText.root(of: text), case .mapping(let members)? = ListValue(root) else {
            return nil
        }
        return members
    }

    /// The keys of each feed.
    var feeds: [[ListMember]] {
        guard case .list(let feeds)? = members?.first(where: { $0.name == "feeds" })?.value else { return [] }
        return feeds.map { if case .mapping(let members) = $0 { members } else { [] } }
    }

    /// The text with feeds added at the end of its list, and otherwise unchanged.
    ///
    /// The result is read again and compared, so that an unusual YAML style cannot damage it.
    ///
    /// - Throws: ``FeedListShapeError`` when no lines can be added to the list because of its style.
    func appending(_ added: [[ListMember]]) throws(FeedListShapeError) -> FeedListText {
        guard !added.isEmpty else { return self }
        guard let place = place() else { throw FeedListShapeError(file: file, lines: Self.lines(added, indent: 2)) }
        let ending = place.before.last?.hasSuffix("\r") == true ? "\r" : ""
        let lines = Self.lines(added, indent: place.indent).map { $0 + ending }
        let outcome = FeedListText(
            file: file,
            text: (place.before + lines + place.after).map { $0 + "\n" }.joined()
        )
        guard outcome.holds(feeds + added, and: members) else {
            throw FeedListShapeError(file: file, lines: Self.lines(added, indent: place.indent))
        }
        return outcome
    }

    /// The text without one of its feeds, and otherwise unchanged; comments between two feeds stay.
    ///
    /// - Throws: ``FeedListShapeError`` when the lines of the feed are not certain because of the list's style.
    func removing(_ index: Int) throws(FeedListShapeError) -> FeedListText {
        var left = feeds
        guard left.indices.contains(index), let place = place() else { throw FeedListShapeError(file: file, lines: []) }
        left.remove(at: index)
        var lines = place.before
        let starts = (try? YAMLText.root(of: text))?.mapping?["feeds"]?.sequence?.compactMap { $0.mark?.line } ?? []
        guard starts.count == left.count + 1, lines.indices.contains(starts[index] - 1) else {
            throw FeedListShapeError(file: file, lines: [])
        }
        let start = starts[index] - 1
        let next = starts.indices.contains(index + 1) ? starts[index + 1] - 1 : lines.count
        let end = lines[start..<next].lastIndex { line in
            let text = line.drop(while: \.isWhitespace)
            return !text.isEmpty && !text.hasPrefix("#")
        }
        lines.removeSubrange(start...(end ?? start))
        if left.isEmpty, let key = lines.lastIndex(where: { $0.hasPrefix("feeds") }) {
            lines[key] = "feeds: []" + (lines[key].hasSuffix("\r") ? "\r" : "")
        }
        let outcome = FeedListText(file: file, text: (lines + place.after).map { $0 + "\n" }.joined())
        guard outcome.holds(left, and: members) else { throw FeedListShapeError(file: file, lines: []) }
        return outcome
    }

    private func holds(_ wanted: [[ListMember]], and old: [ListMember]?) -> Bool {
        let others = { (members: [ListMember]?) in (members ?? []).filter { $0.name != "feeds" } }
        return feeds == wanted && others(members) == others(old) && members?.count == old?.count
    }

    // MARK: Lines

    private static func lines(_ feeds: [[ListMember]], indent: Int) -> [String] {
        let space = String(repeating: " ", count: indent)
        return feeds.flatMap { feed in
            feed.enumerated().map { index, member in
                "\(space)\(index == 0 ? "-" : " ") \(key(member.name)): \(member.value.yaml)"
            }
        }
    }

    private static func key(_ name: String) -> String { ListValue.text(name).yaml }

    private typealias Place = (before: [String], indent: Int, after: [String])

    /// The end of the list of feeds; `nil` when the feeds are not on separate lines.
    private func place() -> Place? {
        guard let mapping = (try? YAMLText.root(of: text))?.mapping,
            let (key, value) = mapping.first(where: { $0.key.scalar?.string == "feeds" }), let first = key.mark?.line
        else { return nil }
        var lines = text.utf8.split(separator: 0x0A, omittingEmptySubsequences: false).map { String($0) ?? "" }
        if lines.last?.isEmpty == true { lines.removeLast() }
        guard lines.indices.contains(first - 1), lines[first - 1].hasPrefix("feeds") else { return nil }
        var indent = 2
        if let node = value.sequence?.first {
            guard let line = node.mark?.line, line > first, line <= lines.count else { return nil }
            let space = lines[line - 1].prefix { $0 == " " }
            guard lines[line - 1].dropFirst(space.count).hasPrefix("-") else { return nil }
            indent = space.count
        } else {
            // The list is empty; a comment on the line is kept.
            let rest = lines[first - 1].dropFirst("feeds:".count)
            let comment = rest.firstIndex(of: "#").map { " " + rest[$0...] }
            lines[first - 1] = "feeds:" + (comment ?? (rest.hasSuffix("\r") ? "\r" : ""))
        }
        let next = mapping.compactMap { $0.key.mark?.line }.filter { $0 > first }.min() ?? lines.count + 1
        let block = lines[first..<min(next - 1, lines.count)]
        let end = block.firstIndex { $0.hasPrefix("...") || $0.hasPrefix("---") } ?? block.endIndex
        let last = block[..<end].lastIndex { !$0.hasPrefix("#") && $0.contains { !$0.isWhitespace } } ?? first - 1
        return (Array(lines[...last]), indent, Array(lines[(last + 1)...]))
    }
}

/// A list to which no feeds can be added without rewriting it.
package struct FeedListShapeError: Error, Sendable, CustomStringConvertible {
    package let file: String
    /// The lines to add by hand.
    package let lines: [String]

    package var description: String {
        "cannot change '\(file)': its 'feeds' are not a list with each feed on its own lines"
    }
}
