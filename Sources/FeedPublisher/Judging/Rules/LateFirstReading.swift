internal import Feeds
internal import FoundationEssentials

/// Recognizes the first entries of a feed whose first readings were empty, as in maintenance, unless they are all as new
/// as that reading.
struct LateFirstReading: DocumentRule {
    func decision(on candidates: [Candidate], _ known: Knowledge) -> DocumentDecision? {
        guard let baseline = known.record.baseline, known.record.newestEntry == nil, known.seen.known.isEmpty,
            known.seen.before == 0
        else { return nil }
        let isUsualList = candidates.contains { candidate in
            candidate.date.map { baseline.timeIntervalSince($0) > Timeline.clearlyLate.inSeconds } ?? false
        }
        return isUsualList ? .lateFirstReading : nil
    }
}

/// Silences the entries of such a document that were published before the first reading.
struct OfLateFirstReading: EntryRule {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        guard known.document.decision == .lateFirstReading, let date = candidate.date,
            let baseline = known.record.baseline, date < baseline
        else { return nil }
        return .silent(.firstReading)
    }
}
