internal import Feeds
package import FoundationEssentials
internal import HubProtocol

/// An entry of a feed's last document with the decision on it, kept to explain the decision to people.
struct JudgedEntry: Sendable, Equatable, Codable {
    /// Maximum number of entries kept for a feed, the newest ones.
    static let maximumCount = 20
    /// Maximum numbers of characters and bytes of a title.
    private static let maximumTitle = 300

    /// Its identity in the feed; `nil` for an entry without one.
    let key: String?
    let title: String
    let date: Date?
    /// The time of the decision.
    let judgedAt: Date
    /// ``SkipReason/name``; `nil` for an entry that is announced.
    private(set) var silence: String?
    /// ``SkipReason/text``.
    private(set) var reason: String?
    /// The key of the message that announces it.
    var idempotencyKey: String?

    /// Returns the entry as it is known to a list that gets the feed later: it announced nothing.
    func withoutMessage() -> JudgedEntry {
        let known = SkipReason.seenBefore(.entry)
        var entry = self
        entry.idempotencyKey = nil
        entry.silence = silence ?? known.name
        entry.reason = reason ?? known.text
        return entry
    }

    /// Merges the decisions of a reading with those of earlier ones.
    ///
    /// An entry that a later reading only recognizes keeps the decision that was made when it was new.
    ///
    /// - Parameters:
    ///   - preview: All entries of the document.
    ///   - judge: The judge of this document.
    ///   - earlier: The stored decisions of earlier readings.
    ///   - isWhole: False for a document that may lack earlier entries.
    /// - Returns: The newest entries, to be stored.
    static func merge(
        _ preview: FeedPreview,
        by judge: NewsJudge,
        into earlier: [JudgedEntry],
        isWhole: Bool
    ) -> [JudgedEntry] {
        let keys = Dictionary(judge.entries.map { ($0.index, $0.key.description) }) { first, _ in first }
        let known = Dictionary(earlier.compactMap { entry in entry.key.map { ($0, entry) } }) { first, _ in first }
        let current = newest(preview.entries).map { index in
            let entry = JudgedEntry(preview.entries[index], key: keys[index], at: judge.now)
            return known[entry.key ?? ""].map(entry.following) ?? entry
        }
        guard !isWhole else { return current }
        let found = Set(current.compactMap(\.key))
        let others = earlier.filter { entry in entry.key.map { !found.contains($0) } ?? true }
        return Array((current + others).prefix(maximumCount))
    }

    /// Returns the positions of the newest entries; entries without a date follow in document order.
    private static func newest(_ entries: [EntryPreview]) -> ArraySlice<Int> {
        let dates = entries.map { $0.dateProblem == nil ? $0.date : nil }
        return entries.indices.sorted { left, right in
            (dates[left] ?? .distantPast, right) > (dates[right] ?? .distantPast, left)
        }.prefix(maximumCount)
    }

    private init(_ entry: EntryPreview, key: String?, at now: Date) {
        self.key = key
        title = TextClip.clip(entry.title, characters: Self.maximumTitle, bytes: Self.maximumTitle)
        date = entry.date
        judgedAt = now
        idempotencyKey = entry.idempotencyKey
        guard case .silent(let why, let story) = entry.fate else {
            (silence, reason) = (nil, nil)
            return
        }
        silence = why.name
        reason = why.text + (story.map { " ('\(TextClip.clip($0, characters: Self.maximumTitle))')" } ?? "")
    }

    /// Returns the entry to store, given the decision of an earlier reading.
    private func following(_ earlier: JudgedEntry) -> JudgedEntry {
        if silence == SkipReason.seenBefore(.entry).name { return earlier }
        var entry = self
        // An edited entry still leads to the message that announced it.
        entry.idempotencyKey = idempotencyKey ?? earlier.idempotencyKey
        return entry
    }
}

/// The state of the message that announces an entry.
package enum AnnouncementState: Sendable, Equatable {
    case sent
    /// It waits for the hub.
    case waiting
    /// It is held until its time.
    case held(until: Date)
    case digest
    case refused(String)
    /// It was sent or withdrawn too long ago to be in the outbox.
    case forgotten

    /// A stable word, for programs.
    package var name: String { words.name }

    /// A text for people.
    package var text: String { words.text }

    private var words: (name: String, text: String) {
        switch self {
        case .sent: ("sent", "sent")
        case .waiting: ("waiting", "waits for the hub")
        case .held(let date): ("waitingForItsHour", "waits until \(ISODateTime.formatSeconds(date))")
        case .digest: ("digest", "in a digest")
        case .refused(let reason): (PublisherReport.Entry.refused, "the hub refused it: \(reason)")
        case .forgotten: ("announced", "announced; its message is no longer in the outbox")
        }
    }
}
