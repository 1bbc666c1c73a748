internal import FoundationEssentials
internal import HubProtocol

/// A message to be sent, its bytes frozen.
struct OutboxRow: Sendable, Equatable {
    let id: Int64
    let message: OutboxMessage
    let created: Date
    /// True if it may have reached the hub already: then only the same bytes with the same key may follow.
    let wasAttempted: Bool

    /// The time from which it is news that waits.
    var isDue: Date { max(created, message.notBefore ?? created) }

    /// True if it may leave; also when its hour lies further ahead than any hold: then the clock was set back meanwhile.
    func isReleased(at now: Date) -> Bool {
        guard let hour = message.notBefore else { return true }
        let ahead = hour.timeIntervalSince(now)
        return ahead <= 0 || ahead > Self.longestHold
    }

    /// Seconds: a day, and the hour that is put in when summer time ends.
    private static let longestHold: Double = 25 * 3_600
}

/// The parts of a row that are frozen when it is made.
struct OutboxMessage: Sendable, Equatable {
    /// The category as its list spells it; caps and digests count by it.
    var category: String
    var tags: String
    /// JSON object of the message's properties.
    var body: [UInt8]
    /// 128 random bits in hexadecimal, for the `Idempotency-Key` header.
    var idempotencyKey: String
    /// Titles for a digest, one a line: the entry's own, or for a digest those it names.
    var headlines: String
    /// Entries it stands for; more than 1 only for a digest.
    var entries: Int
    var isDigest: Bool
    /// ``StoryName``.
    var story: String?
    var status: MessageStatus?
    /// The word of a ``MessageUrgency``; `nil` for the usual one.
    var urgency: String?
    /// Names of stories whose messages this one takes the place of; such a message is never folded into a digest.
    var replaces: [String] = []
    /// The time from which it may leave; `nil`: at once.
    var notBefore: Date?
    /// The time from which it is of no use.
    var expires: Date?
    /// The share of each language's recipients; empty where all are told the same.
    var shares: [String: LanguageShare] = [:]

    /// True for an alert to be acted upon.
    var isUrgent: Bool { urgency == MessageUrgency.critical.rawValue }
}

enum OutboxOutcome: Sendable, Equatable {
    case sent(messageID: String?)
    /// The hub will never take it.
    case failed(reason: String)
}

/// Numbers of rows by state, for people.
struct OutboxCounts: Sendable, Equatable {
    var pending = 0
    var sent = 0
    var failed = 0
    var folded = 0
}
