internal import FoundationEssentials
internal import HubProtocol

/// A message to send, with its final bytes.
struct OutboxRow: Sendable, Equatable {
    let id: Int64
    let message: OutboxMessage
    let created: Date
    /// True if it may have reached the hub: then only the same bytes with the same key may be sent.
    let wasAttempted: Bool

    /// The time since which it waits as news.
    var isDue: Date { max(created, message.notBefore ?? created) }

    /// True if it may be sent, or if its time is further ahead than any hold, because the clock was set back.
    func isReleased(at now: Date) -> Bool {
        guard let hour = message.notBefore else { return true }
        let ahead = hour.timeIntervalSince(now)
        return ahead <= 0 || ahead > Self.longestHold
    }

    /// Longest hold in seconds: a day, and the additional hour when summer time ends.
    private static let longestHold: Double = 25 * 3_600
}

/// The message of a row.
struct OutboxMessage: Sendable, Equatable {
    /// The category as spelled in its list; caps and digests count by it.
    var category: String
    var tags: String
    /// A JSON object with the message's properties.
    var body: [UInt8]
    /// 128 random bits in hexadecimal, for the header `Idempotency-Key`.
    var idempotencyKey: String
    /// Titles for a digest, one per line: the entry's own, or those that a digest names.
    var headlines: String
    /// Number of entries that it announces; above 1 only for a digest.
    var entries: Int
    var isDigest: Bool
    /// ``StoryName``.
    var story: String?
    var status: MessageStatus?
    /// The word of a ``MessageUrgency``; `nil` for the usual one.
    var urgency: String?
    /// Names of stories whose messages this one replaces; such a message never goes into a digest.
    var replaces: [String] = []
    /// The time from which it may be sent; `nil` for at once.
    var notBefore: Date?
    /// The time after which it is not sent.
    var expires: Date?
    /// The share of each language's recipients; empty if all get the same text.
    var shares: [String: LanguageShare] = [:]

    /// True for an alert that calls for action.
    var isUrgent: Bool { urgency == MessageUrgency.critical.rawValue }
}

enum OutboxOutcome: Sendable, Equatable {
    case sent(messageID: String?)
    /// The hub will never accept it.
    case failed(reason: String)
}
