internal import FoundationEssentials
internal import HubProtocol

/// The messages of one category that are sent singly now, and those that are folded into a digest.
///
/// The cap applies when messages are sent, so that neither a busy feed nor a hub that returns causes a flood.
struct OutboxPlan: Sendable, Equatable {
    /// Number of urgent messages sent beyond the cap; bounded, since a feed's claim of urgency cannot be verified.
    static let urgentAllowance = 5

    /// Oldest first.
    var single: [OutboxRow] = []
    /// Oldest first; empty when there is nothing to fold.
    var folded: [OutboxRow] = []
    /// The time when rows that are neither sent nor folded can be planned again; `nil` if there are none.
    var waitsUntil: Date?
    /// Reasons why rows go into a digest, by the rows' numbers.
    var reasons: [Int64: FoldReason] = [:]

    /// Plans the pending rows of one category that may be sent, oldest first, without those that were attempted.
    ///
    /// Urgent messages have room first, then the newest; the others go into a digest. Without a cap all rows are sent
    /// singly, except those older than `announceWithin`, which are no longer news on their own. A message that replaces
    /// a shown one never goes into a digest: that would leave the wrong text on people's screens. It causes no flood,
    /// because there is at most one for each shown message, and it counts in the cap.
    ///
    /// Urgent messages may exceed the cap by ``urgentAllowance``. They are valid until they expire, however long they
    /// waited.
    ///
    /// The cap applies to the last ``RecentMessages/window``, regardless of the number of passes. The messages that
    /// exceed it first go into a digest at once; later ones collect until the window has passed or there is room again.
    init(
        _ rows: [OutboxRow],
        cap: Int?,
        recent: RecentMessages = RecentMessages(),
        announceWithin: Duration,
        now: Date
    ) {
        // The room can fall below zero, by at most the allowance of urgent messages.
        var room = cap.map { $0 - recent.times.count } ?? .max
        var chosen: Set<Int64> = []
        for row in rows.reversed() where row.message.replaces.isEmpty && row.message.isUrgent {
            guard room > -Self.urgentAllowance else { break }
            room -= 1
            chosen.insert(row.id)
        }
        for row in rows where !row.message.replaces.isEmpty {
            if room > 0 { room -= 1 }
            chosen.insert(row.id)
        }
        let others = rows.filter { row in
            guard !chosen.contains(row.id) else { return false }
            let isOld = now.timeIntervalSince(row.isDue) > announceWithin.inSeconds
            if row.message.isDigest || isOld {
                reasons[row.id] = row.message.isDigest ? .earlierDigest : .tooOld(announceWithin)
            }
            return reasons[row.id] == nil
        }
        chosen.formUnion(Self.newest(others, room))
        single = rows.filter { chosen.contains($0.id) }
        folded = rows.filter { !chosen.contains($0.id) }
        for row in folded where reasons[row.id] == nil { reasons[row.id] = .overCap(cap ?? 0) }
        // A digest that a killed pass left behind is sent as it is.
        if folded.count == 1, folded[0].message.isDigest {
            single += folded
            (folded, reasons) = ([], [:])
        } else if !folded.isEmpty, let end = recent.endOfWait, !folded.contains(where: \.message.isUrgent) {
            waitsUntil = end
            (folded, reasons) = ([], [:])
        }
    }

    /// Returns the newest rows, by their dates of publication.
    private static func newest(_ rows: [OutboxRow], _ count: Int) -> [Int64] {
        guard count > 0 else { return [] }
        guard rows.count > count else { return rows.map(\.id) }
        return rows.map { ($0.message.published ?? $0.created, $0.id) }.sorted { $0 > $1 }.prefix(count).map(\.1)
    }
}

extension OutboxMessage {
    /// The date that readers see.
    fileprivate var published: Date? {
        MessageComposer.properties(of: self)?[.published].flatMap { try? Date($0, strategy: .iso8601) }
    }
}

/// The messages of a category that were sent within the window of the cap.
struct RecentMessages: Sendable, Equatable {
    /// The time in which a category has at most as many single messages as its cap, over all passes.
    static let window: Duration = .seconds(600)
    /// Passes that start every ten minutes do not find each other's messages, which are sent some seconds later.
    private static let slack: Duration = .seconds(15)

    /// The times when messages were sent singly, oldest first.
    var times: [Date] = []
    /// The time when the last digest was sent.
    var digest: Date?

    /// The time from which sent messages count.
    static func start(at now: Date) -> Date { now.addingTimeInterval(-(window - slack).inSeconds) }

    /// The time when there is room again, or another digest can follow; `nil` if a digest can be sent now.
    var endOfWait: Date? {
        guard let digest else { return nil }
        return min(digest, times.first ?? digest).addingTimeInterval((Self.window - Self.slack).inSeconds)
    }
}
