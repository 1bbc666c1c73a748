internal import FoundationEssentials

/// What of one category is sent singly in this pass, and what is folded into a digest.
///
/// The cap counts here, when sending, so that neither a busy feed nor the return of a hub floods (design.md §7).
struct OutboxPlan: Sendable, Equatable {
    /// Oldest first.
    var single: [OutboxRow] = []
    /// Oldest first; empty when there is nothing to fold.
    var folded: [OutboxRow] = []
    /// Why rows are folded, by their numbers.
    var reasons: [Int64: FoldReason] = [:]

    /// Plans all pending rows of one category that may leave, oldest first.
    ///
    /// Without a cap all are sent singly, but for those older than `announceWithin`, which are no news by themselves.
    /// What takes the place of a message that was shown is never folded: a digest would leave what is wrong on people's
    /// screens. It is no flood, being at most one for each message that was shown, and counts in the cap.
    init(_ rows: [OutboxRow], cap: Int?, announceWithin: Duration, now: Date) {
        // The hub may have these already: only their own bytes and keys can be sent without repeating them.
        let attempted = rows.count { $0.wasAttempted && !$0.message.isDigest }
        var room = cap.map { max(0, $0 - attempted) } ?? .max
        for row in rows {
            let isOld = now.timeIntervalSince(row.isDue) > announceWithin.inSeconds
            if row.wasAttempted {
                single.append(row)
            } else if !row.message.replaces.isEmpty {
                room = max(0, room - 1)
                single.append(row)
            } else if row.message.isDigest || isOld || room == 0 {
                folded.append(row)
                reasons[row.id] =
                    row.message.isDigest ? .earlierDigest : isOld ? .tooOld(announceWithin) : .overCap(cap ?? 0)
            } else {
                room -= 1
                single.append(row)
            }
        }
        // A digest that a killed pass left behind needs no second one around it.
        if folded.count == 1, folded[0].message.isDigest {
            single.append(folded[0])
            folded = []
            reasons = [:]
        }
    }
}
