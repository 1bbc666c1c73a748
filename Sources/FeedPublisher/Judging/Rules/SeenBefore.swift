internal import Feeds

/// Recognizes an entry by its identity, or by its identifier in another spelling.
///
/// An edited entry that only its link identifies is left to ``SamePage``.
struct SeenBefore: EntryRule {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        if candidate.novelty == .edited, !candidate.read.isKnownByLink { return .silent(.seenBefore(.entry)) }
        if known.contains(.loose, candidate.keys.loose) { return .silent(.seenBefore(.loose)) }
        return known.document.spelledTwice.contains(candidate.place) ? .silent(.repeated) : nil
    }
}
