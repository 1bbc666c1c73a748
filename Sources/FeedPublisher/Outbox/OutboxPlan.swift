internal import FoundationEssentials

/// The messages of one category that are sent singly in this pass, and those that are folded into a digest.
///
/// The cap counts here, when sending, so that neither a busy feed nor the return of a hub floods.
struct OutboxPlan: Sendable, Equatable {
    /// Messages beyond the cap of those that are urgent; bounded, as nothing proves that a feed's word for it is true.
    static let urgentAllowance = 5

    /// Oldest first.
    var single: [OutboxRow] = []
    /// Oldest first; empty when there is nothing to fold.
    var folded: [OutboxRow] = []
    /// The time when rows that are neither sent nor folded can be planned again; `nil` when there are none.
    var waitsUntil: Date?
    /// The reasons why rows are folded, by the rows' numbers.
    var reasons: [Int64: FoldReason] = [:]

    /// Plans all pending rows of one category that may leave, oldest first.
    ///
    /// Without a cap all are sent singly, but for those older than `announceWithin`, which are no news by themselves.
    /// What takes the place of a message that was shown is never folded: a digest would leave what is wrong on people's
    /// screens. It is no flood, being at most one for each message that was shown, and counts in the cap.
    ///
    /// What is urgent has room first, the newest of it, and beyond the cap by ``urgentAllowance``; however long it waited,
    /// it is in force until it expires.
    ///
    /// In a publisher that stays, which sends whenever something is new, the cap counts for a window of time: what exceeds
    /// it is folded at once, and then waits until the window has passed or there is room again.
    init(
        _ rows: [OutboxRow],
        cap: Int?,
        sent: Int = 0,
        recent: RecentMessages? = nil,
        announceWithin: Duration,
        now: Date
    ) {
        // The hub may have these already: only their own bytes and keys can be sent without repeating them.
        // They are sent before, so that a window of time has them already.
        let attempted = recent == nil ? rows.count { $0.wasAttempted && !$0.message.isDigest } : 0
        // Below zero down to the urgent ones' allowance.
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
        // A digest that a killed pass left behind needs no second one around it.
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
    /// The time when a digest was sent.
    let digest: Date?

    /// The time when there is room again, or a digest can follow the last; `nil` when one can at once.
    var endOfWait: Date? {
        guard let digest else { return nil }
        return min(digest, times.first ?? digest).addingTimeInterval(window.inSeconds)
    }
}
