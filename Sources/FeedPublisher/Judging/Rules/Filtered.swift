/// Leaves out entries that the list's filters reject, and alerts that are not for the public or have expired.
struct Filtered: EntryRule {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        guard !known.document.effects.wanted.contains(candidate.place) else { return nil }
        return known.skipReason(for: candidate).map { .silent($0) }
    }
}
