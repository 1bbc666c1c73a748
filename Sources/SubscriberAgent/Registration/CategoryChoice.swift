import Formats
import HostSystem
import HubProtocol

/// Categories that a person typed: valid tags without duplicates, in the order typed.
package struct CategoryChoice: Sendable, Equatable {
    /// Maximum number of categories of one agent: the number of tags that an installation may have.
    package static let maximumCount = Installation.maximumTags

    package let categories: [String]

    /// Splits a text at commas; blanks around a name and empty names are ignored, and an empty text means broadcasts
    /// only.
    ///
    /// - Throws: ``AgentError`` with exit 64 for a name that is not a valid category, or too many names.
    package init(typed text: String) throws(AgentError) {
        try self.init(text.split(separator: ",").map(String.init))
    }

    package init(_ names: [String]) throws(AgentError) {
        var seen: Set<String> = []
        var categories: [String] = []
        for name in names {
            let name = String(name.trimming(\.isWhitespace))
            guard !name.isEmpty else { continue }
            let tag: Tag
            do {
                tag = try Tag(name)
            } catch {
                throw AgentError(.usage, "cannot choose '\(name)': \(error.detail)")
            }
            guard !tag.isServerAssigned, !ReservedTagPrefixes.standard.contains(tag) else {
                throw AgentError(.usage, "cannot choose '\(name)': it is a reserved tag, not a category")
            }
            if seen.insert(tag.folded).inserted { categories.append(tag.text) }
        }
        guard categories.count <= Self.maximumCount else {
            throw AgentError(.usage, "cannot choose \(categories.count) categories: at most \(Self.maximumCount)")
        }
        self.categories = categories
    }

    /// Returns the same choice in the hub's spelling.
    ///
    /// - Throws: ``AgentError`` with exit 64, with the unknown names, the nearest known ones, and all known ones.
    package func checked(against known: [String]) throws(AgentError) -> CategoryChoice {
        let spelling = Self.spellings(of: known)
        var checked: [String] = []
        for category in categories {
            guard let spelled = spelling[Self.folded(category)] else {
                let nearest = NearestName.of(category, among: known).map { ", did you mean '\($0)'?" } ?? ""
                let hint = AgentHint.unknownCategory(known: known)
                throw AgentError(.usage, "unknown category '\(category)'\(nearest)", hint: hint)
            }
            checked.append(spelled)
        }
        return CategoryChoice(checked: checked)
    }

    /// Returns the categories of `chosen` that are not in `known`.
    static func retired(_ chosen: [String], known: [String]) -> [String] {
        let spelling = spellings(of: known)
        return chosen.filter { spelling[folded($0)] == nil }
    }

    /// Returns a category folded by the hub's rule; a text that is not a tag equals itself only.
    static func folded(_ category: String) -> String { (try? Tag(category))?.folded ?? category }

    private static func spellings(of known: [String]) -> [String: String] {
        Dictionary(known.map { (folded($0), $0) }) { first, _ in first }
    }

    private init(checked categories: [String]) { self.categories = categories }
}
