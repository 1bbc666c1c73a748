internal import Feeds
internal import FoundationEssentials

/// Records entries that are clearly older than the newest known one or than the first reading: archives, documents that
/// grow, older entries that take the places of deleted ones.
///
/// Late stories, slow feeds and wrong zones are news: what was dated after the last reading, or after the newest known
/// entry, is never old, and neither is an alert that has not expired.
struct OldEntry: EntryRule {
    func decision(on candidate: Candidate, _ known: Knowledge) -> Decision? {
        guard let date = candidate.date, date <= known.now, !known.contains(.held, candidate.read.key),
            !(candidate.alert?.expires.map { $0 > known.now } ?? false)
        else { return nil }
        return known.document.timeline.isOld(date, at: candidate.place) ? .silent(.old) : nil
    }
}

/// The dates of a document and of earlier ones.
struct Timeline: Sendable {
    /// An entry that is dated by this much before the last reading is clearly late.
    static let clearlyLate: Duration = .seconds(86_400)
    /// An entry that is older than all others may still be a late story up to this age.
    static let longestDelay: Duration = .seconds(2 * 86_400)
    /// An entry that is older than the newest one by this much is old, unless the feed is slow.
    static let staleness: Duration = .seconds(7 * 86_400)
    /// Number of usual gaps between entries that make an entry of a slow feed old.
    private static let staleGaps = 3.0
    /// Number of entries older than all known ones by which a document has grown.
    private static let fewestOfGrowth = 3

    private var newest: Date?
    private var lastReading: Date?
    /// The date of the oldest known entry of the document; exceptions such as a pinned entry do not count.
    private var oldest: Date?
    /// The usual time between two entries.
    private var gap = 0.0
    private var hasGrown = false
    /// The places to which an entry can have moved up when others were deleted; empty if none was.
    private var slidPlaces = 0..<0

    init() {}

    /// Creates the timeline of a document, given which of its entries are new.
    init(_ entries: [ReadEntry], new: Set<Int>, _ known: Knowledge) {
        newest = known.record.newestEntry
        lastReading = known.record.lastSuccess ?? known.record.baseline
        let listed = entries.filter { !new.contains($0.place) }
        let dated = listed.compactMap { read in read.date.map { (place: read.place, date: min($0, known.now)) } }
        let dates = Self.withoutOutliers(dated.map { $0.date }.sorted())
        oldest = dates.first
        gap = Self.usualGap(dates)
        guard let last = lastReading else { return }
        let limit = [dates.first, newest].compactMap(\.self).min() ?? last
        let older = entries.filter { read in new.contains(read.place) && read.date.map { $0 < limit } ?? false }
        let isLate = older.contains { read in
            read.date.map { last.timeIntervalSince($0) > Self.clearlyLate.inSeconds } ?? false
        }
        hasGrown = older.count >= Self.fewestOfGrowth && isLate
        let hasSlid = known.seen.vanished > 0 && entries.count <= known.seen.before && listed.count * 2 >= entries.count
        guard hasSlid, let first = dated.first, let end = dated.last, first.date != end.date else { return }
        slidPlaces = first.date > end.date ? end.place + 1..<Int.max : 0..<first.place
    }

    /// True if an entry of this date is clearly old.
    func isOld(_ date: Date, at place: Int) -> Bool {
        guard let lastReading else { return false }
        let delay = lastReading.timeIntervalSince(date)
        guard delay > 0, newest.map({ date < $0 }) ?? true else { return false }
        guard oldest.map({ date < $0 }) ?? true else {
            guard let newest else { return false }
            return newest.timeIntervalSince(date) > max(Self.staleness.inSeconds, gap * Self.staleGaps)
        }
        return hasGrown || delay > Self.longestDelay.inSeconds || slidPlaces.contains(place)
    }

    /// Leaves out at most a quarter of the dates that are far older than all others.
    private static func withoutOutliers(_ dates: [Date]) -> [Date] {
        let usual = usualGap(dates)
        var rest = dates[...]
        for _ in 0..<(dates.count / 4) {
            guard rest.count > 1, let first = rest.first else { break }
            let next = rest[rest.startIndex + 1]
            guard next.timeIntervalSince(first) > max(staleness.inSeconds, usual * 10) else { break }
            rest.removeFirst()
        }
        return Array(rest)
    }

    /// Returns the median time between two consecutive dates.
    private static func usualGap(_ dates: [Date]) -> Double {
        let gaps = zip(dates, dates.dropFirst()).map { $1.timeIntervalSince($0) }.sorted()
        return gaps.isEmpty ? 0 : gaps[gaps.count / 2]
    }
}
