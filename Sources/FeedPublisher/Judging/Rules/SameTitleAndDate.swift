internal import Feeds
internal import FoundationEssentials

/// Recognizes an entry by its title and date, if identifiers and links change.
///
/// Two entries of one title and one day are two if their texts differ.
struct SameTitleAndDate: EntryRule {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        guard let title = candidate.keys.title, known.contains(.title, title) else { return nil }
        if PageTitle.isDay(candidate.entry.date), let content = known.seen.details[SeenKey(.title, title)]?.content,
            !candidate.hasContent(content)
        {
            return nil
        }
        // The known entry may be another one of this document, which was recognized by its identifier or link.
        let isRepeated = isIdentifiedByTitle(candidate) && !known.document.recognizedTitles.contains(title)
        return known.document.isMostlyUnknown || isRepeated ? .silent(.seenBefore(.title)) : nil
    }

    /// True if title and date identify an entry; two alerts of one minute often share them, and have reliable
    /// identifiers.
    private func isIdentifiedByTitle(_ candidate: Candidate) -> Bool {
        candidate.entry.date != nil && candidate.alert == nil
    }
}
