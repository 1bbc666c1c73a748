internal import Markup

/// A selection of the news in memory: of one category, or with certain words.
package struct NewsFilter: Sendable, Equatable {
    /// The longest search, in characters.
    private static let maximumSearch = 100

    package let category: String?
    /// The search as it was typed, of limited length.
    let search: String?
    private let words: SearchWords

    /// Empty texts select nothing.
    package init(category: String? = nil, search: String? = nil) {
        func shown(_ text: String?) -> String? {
            let clean = text.map { PlainText.clean($0, limit: Self.maximumSearch) } ?? ""
            return clean.isEmpty ? nil : clean
        }
        self.category = shown(category)
        self.search = shown(search)
        words = SearchWords(self.search ?? "")
    }

    package var isEmpty: Bool { category == nil && search == nil }
    package var isSearch: Bool { search != nil }

    package func selects(_ storyVersion: StoryVersion) -> Bool {
        guard category == nil || storyVersion.categories.contains(where: isCategory) else { return false }
        return words.are(in: storyVersion.searched)
    }

    /// True for the selected category, in any case.
    func isCategory(_ name: String) -> Bool { name.lowercased() == category?.lowercased() }
}
