internal import Feeds
internal import FoundationEssentials

/// Recognizes a document whose entries have all got new identifiers: most of it is unknown, as many entries are gone,
/// and the new entries are old.
///
/// Age is judged by the feed's own dates: our clock may have been years ahead when the feed was last read.
struct NewIdentifiers: DocumentRule {
    /// An entry that is older than the newest known one by this much should have been read before, even if its
    /// publisher is slow.
    static let age: Duration = .seconds(86_400)
    /// The smallest number of new entries that can be a reset; fewer are limited by the cap.
    static let fewest = 4

    func decision(on candidates: [Candidate], _ known: Knowledge) -> DocumentDecision? {
        let candidates = candidates.filter { !known.contains(.held, $0.read.key) }
        guard known.document.isMostlyUnknown, candidates.count >= Self.fewest,
            candidates.count * 4 >= known.document.count * 3, known.seen.vanished * 2 >= candidates.count,
            let newest = known.record.newestEntry, newest <= known.now
        else { return nil }
        let limit = newest.addingTimeInterval(-Self.age.inSeconds)
        let old = candidates.count { candidate in candidate.date.map { $0 < limit } ?? false }
        return old * 2 > candidates.count ? .newIdentifiers : nil
    }
}

/// Silences the entries of such a document, except those that are newer than the last reading.
struct WithNewIdentifier: EntryRule {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        guard known.document.decision == .newIdentifiers else { return nil }
        return known.isLater(candidate, than: known.record.newestEntry) ? nil : .silent(.newIdentifiers)
    }
}
