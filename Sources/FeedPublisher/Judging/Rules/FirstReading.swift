/// Recognizes the first reading of a feed: its entries are recorded, to avoid a flood.
struct FirstReading: DocumentRule {
    func decision(on candidates: [Candidate], _ known: Knowledge) -> DocumentDecision? {
        known.record.baseline == nil ? .firstReading : nil
    }
}

/// Silences the entries of a first reading, except those that the operator asked for.
struct OfFirstReading: EntryRule {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        guard known.document.decision == .firstReading, !known.document.chosen.contains(candidate.place) else {
            return nil
        }
        let isWanted = known.document.effects.wanted.contains(candidate.place)
        return .silent(isWanted ? .firstReading : known.skipReason(for: candidate) ?? .firstReading)
    }
}
