import Feeds
import Foundation
import Testing

@testable import FeedLists
@testable import FeedPublisher

extension NewsJudgeTests {
    /// Readings of one feed, one after the other, with a memory like the store's.
    struct Reader {
        var record = FeedRecord(id: 1, url: "https://news.example/feed")
        var known: [SeenKey: SeenMark] = [:]
        var last: Set<EntryKey> = []
        var recent: [JudgedEntry] = []
        var title = "Example"
        var now = Date(timeIntervalSince1970: 1_780_000_000)

        /// - Returns: The titles announced, in order.
        mutating func read(
            _ entries: [Entry],
            link: String? = "https://news.example/",
            existing: ExistingEntries = .none
        ) -> [String] {
            judge(entries, link: link, existing: existing).announcements.map { $0.entry.title ?? $0.entry.id ?? "" }
        }

        mutating func judge(
            _ entries: [Entry],
            link: String? = "https://news.example/",
            existing: ExistingEntries = .none
        ) -> Judgement {
            var feed = Feed(format: FeedFormat(.rss, version: "2.0"))
            feed.link = link
            feed.entries = entries
            feed.title = title
            let judge = NewsJudge(feed: feed, record: record, existing: existing, now: now)
            let marks = judge.entryMarks
            let keys = Set(marks.map(\.key))
            var state = SeenState()
            state.unknown = keys.filter { known[SeenKey(.entry, $0)] == nil }
            state.edited = Set(
                marks.filter { mark in
                    known[SeenKey(.entry, mark.key)].map { $0.content != nil && $0.content != mark.content } ?? false
                }.map(\.key)
            )
            let candidates = judge.candidates(state)
            let looked = keys.map { SeenKey(.entry, $0) } + judge.furtherKeys(of: candidates)
            state.details = known.filter { looked.contains($0.key) }
            state.known = Set(state.details.keys)
            state.recent = recent
            (state.before, state.vanished) = (last.count, last.subtracting(keys).count)
            let judgement = judge.judge(candidates, state)
            for mark in judge.marks(after: judgement) {
                var mark = mark
                if mark.content == nil, let former = known[mark.key] {
                    (mark.content, mark.title, mark.date) = (former.content, former.title, former.date)
                }
                mark.isShared = mark.isShared || known[mark.key]?.isShared ?? false
                known[mark.key] = mark
            }
            guard !judgement.isForeign else {
                record = judge.record(record, after: judgement, isWhole: true)
                now += 600
                return judgement
            }
            last = keys
            recent = judge.entries.compactMap { try? NewsJudgeTests.judged($0) }
            record = judge.record(record, after: judgement, isWhole: true)
            record.title = title
            record.baseline = record.baseline ?? now
            record.lastSuccess = now
            now += 600
            return judgement
        }
    }

    /// An entry as it is stored to explain the decision on it.
    private static func judged(_ read: ReadEntry) throws -> JudgedEntry {
        struct Stored: Encodable {
            let key: String
            let title: String
            let date: Date?
            let judgedAt = Date(timeIntervalSince1970: 1_780_000_000)
        }
        let stored = Stored(key: read.key.description, title: read.entry.title ?? "", date: read.entry.date)
        return try JSONDecoder().decode(JudgedEntry.self, from: try JSONEncoder().encode(stored))
    }

    func entry(
        _ id: String?,
        _ title: String? = nil,
        link: String? = nil,
        daysAgo: Double? = nil,
        from now: Date = Date(timeIntervalSince1970: 1_780_000_000)
    ) -> Entry {
        var entry = Entry()
        entry.id = id
        entry.title = title ?? id
        entry.link = link
        entry.published = daysAgo.map { now - $0 * 86_400 }
        return entry
    }
}
