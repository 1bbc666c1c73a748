internal import FeedLists
internal import Feeds
internal import HubProtocol

extension EditorialMarks {
    /// Returns the mark of an entry; `nil` for most entries.
    func mark(of entry: Entry) -> EditorialMark? {
        guard !isEmpty else { return nil }
        let titles =
            entry.title.map { [FoldedWords.of($0), FoldedWords.of(FormerStoryTitle.withoutPublisher($0))] } ?? []
        let categories = entry.categories.map { FoldedWords.of($0) }
        for (status, terms) in [(MessageStatus.withdrawn, retractions), (.correction, corrections)] {
            let isInTitle = terms.contains { term in titles.contains { term.rest(of: $0) != nil } }
            if isInTitle || terms.contains(where: { term in categories.contains { term.rest(of: $0) == [] } }) {
                return EditorialMark(status: status, isInTitle: isInTitle)
            }
        }
        return nil
    }

    /// Returns a title's words without a mark at their beginning or end.
    func unmarked(_ words: [String]) -> [String] {
        for term in retractions + corrections {
            if let rest = term.rest(of: words), !rest.isEmpty { return rest }
        }
        return words
    }
}

/// The mark of an entry, according to the words of its list.
struct EditorialMark: Sendable, Equatable {
    /// ``MessageStatus/correction`` or ``MessageStatus/withdrawn``.
    let status: MessageStatus
    /// True if readers see the mark in the title.
    let isInTitle: Bool
}
