internal import Feeds

/// The words by which a list knows corrections and retractions, in titles and among an entry's categories.
package struct EditorialMarks: Sendable, Hashable {
    var corrections: [Keyword] = []
    var retractions: [Keyword] = []

    var isEmpty: Bool { corrections.isEmpty && retractions.isEmpty }

    /// What an entry is marked as; `nil` for most.
    func mark(of entry: Entry) -> EditorialMark? {
        guard !isEmpty else { return nil }
        let title = KeywordFilter.FilterText([entry.title].compactMap(\.self))
        let all = KeywordFilter.FilterText([entry.title].compactMap(\.self) + entry.categories)
        for (status, terms) in [(MessageStatus.withdrawn, retractions), (.correction, corrections)] {
            guard terms.contains(where: { $0.isIn(all) }) else { continue }
            return EditorialMark(status: status, isInTitle: terms.contains { $0.isIn(title) })
        }
        return nil
    }

    /// A title's words without a mark at their beginning or end.
    func unmarked(_ words: [String]) -> [String] {
        for term in retractions + corrections {
            let count = term.words.count
            guard words.count > count else { continue }
            if term.isBeginning(of: words) { return Array(words.dropFirst(count)) }
            if term.isBeginning(of: Array(words.suffix(count))) { return words.dropLast(count) }
        }
        return words
    }
}

/// What a list's words make of an entry.
struct EditorialMark: Sendable, Equatable {
    /// ``MessageStatus/correction`` or ``MessageStatus/withdrawn``.
    let status: MessageStatus
    /// Whether readers see it in the title.
    let isInTitle: Bool
}
