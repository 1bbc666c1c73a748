internal import FoundationEssentials

/// The messages of one category that are sent singly in this pass, and those that are folded into a digest.
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

    /// Plans all pending rows of one category that may be sent, oldest first.
    ///
    /// Without a cap all rows are sent singly, except those older than `announceWithin`, which are no longer news on
    /// their own. A message that replaces a shown one never goes into a digest: that would leave the wrong text on
    /// people's screens. It causes no flood, because there is at most one for each shown message, and it counts in the
    /// cap.
    ///
    /// Urgent messages come first, the newest before the others, and may exceed the cap by ``urgentAllowance``. They
    /// are valid until they expire, however long they waited.
    ///
    /// A publisher that keeps running sends at once, so its cap applies to a window of time. Messages that exceed the
    /// cap go into a digest at once; later ones wait until the window has passed or there is room again.
    init(
        _ rows: [OutboxRow],
        cap: Int?,
        sent: Int = 0,
        recent: RecentMessages? = nil,
        announceWithin: Duration,
        now: Date
    ) {
        // The hub may have attempted rows already: only the same bytes with the same key cannot repeat them. They are
        // sent before this plan is made, so a window of time counts them already.
        let attempted = recent == nil ? rows.count { $0.wasAttempted && !$0.message.isDigest } : 0
        // The room can fall below zero, by at most the allowance of urgent messages.
        var room = cap.map { $0 - attempted - sent - (recent?.times.count ?? 0) } ?? .max
        var urgent: Set<Int64> = []
        for row in rows.reversed() where !row.wasAttempted && row.message.replaces.isEmpty && row.message.isUrgent {
            guard room > -Self.urgentAllowance else { break }
            room -= 1
            urgent.insert(row.id)
        }
        var excess: [OutboxRow] = []
        for row in rows {
            let isOld = now.timeIntervalSince(row.isDue) > announceWithin.inSeconds
            if row.wasAttempted || urgent.contains(row.id) {
                single.append(row)
            } else if !row.message.replaces.isEmpty {
                if room > 0 { room -= 1 }
                single.append(row)
            } else if row.message.isDigest || isOld {
                folded.append(row)
                reasons[row.id] = row.message.isDigest ? .earlierDigest : .tooOld(announceWithin)
            } else if room > 0 {
                room -= 1
                single.append(row)
            } else {
                excess.append(row)
            }
        }
        if !excess.isEmpty, folded.isEmpty, let end = recent?.endOfWait {
            waitsUntil = end
        } else {
            for row in excess { reasons[row.id] = .overCap(cap ?? 0) }
            folded = (folded + excess).sorted { $0.id < $1.id }
        }
        // A digest that a killed pass left behind is sent as it is.
        if folded.count == 1, folded[0].message.isDigest {
            single.append(folded[0])
            folded = []
            reasons = [:]
        }
    }
}

/// The messages of a category that were sent within a window of time.
struct RecentMessages: Sendable, Equatable {
    let window: Duration
    /// The times when messages were sent singly, oldest first.
    let times: [Date]
    /// The time when the last digest was sent.
    let digest: Date?

    /// The time when there is room again, or another digest can follow; `nil` if a message can be sent now.
    var endOfWait: Date? {
        guard let digest else { return nil }
        return min(digest, times.first ?? digest).addingTimeInterval(window.inSeconds)
    }
}
