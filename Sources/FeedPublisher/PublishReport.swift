package import FoundationEssentials
package import HostSystem
package import HubClient

/// The figures of a pass.
package struct PublishReport: Sendable, Equatable {
    /// Nothing is lost with `tryLater`; with `badConfiguration` the hub refuses us.
    package var exit = ExitStatus.done
    /// Feeds asked for.
    package var polled = 0
    /// Feeds of ``polled`` without anything new from the server.
    package var unchanged = 0
    /// Feeds of ``polled`` without a readable document.
    package var failedFeeds = 0
    /// New entries for which a message was made.
    package var announced = 0
    /// New entries recorded without one.
    package var recorded = 0
    /// Messages that the hub took, digests included.
    package var sent = 0
    package var digests = 0
    /// Messages that the hub will never take.
    package var refused = 0
    /// Messages that still wait.
    package var pending = 0
    /// The time when the first of the messages can go that their hour or ``PublishOptions/capWindow`` holds back.
    package var waitsUntil: Date?

    package init() {}

    /// Adds a feed's turn.
    mutating func add(_ outcome: FeedPoll.Outcome) {
        polled += 1
        unchanged += outcome.isUnchanged ? 1 : 0
        failedFeeds += outcome.failure == nil ? 0 : 1
        announced += outcome.announced
        recorded += outcome.recorded
    }

    /// Adds the figures of another part of the work; how that ended, and what waits, is another matter.
    mutating func add(_ other: PublishReport) {
        polled += other.polled
        unchanged += other.unchanged
        failedFeeds += other.failedFeeds
        announced += other.announced
        recorded += other.recorded
        sent += other.sent
        digests += other.digests
        refused += other.refused
    }
}

/// One line for people, to be prefixed by its level.
package struct PublishLine: Sendable, Equatable {
    package enum Level: String, Sendable {
        case error, warning, hint, notice
    }

    package let level: Level
    /// Empty where the hint says all.
    package let text: String
    package let hint: PublishHint?
    /// True if an earlier pass said it already: under cron nobody wants it again, a person at a terminal does.
    package let isRepeat: Bool

    init(_ level: Level, _ text: String = "", hint: PublishHint? = nil, isRepeat: Bool = false) {
        self.level = level
        self.text = text
        self.hint = hint
        self.isRepeat = isRepeat
    }
}

/// Hints after a failure; the command line puts them into words.
package enum PublishHint: Sendable, Equatable {
    case hub(HubHint)
    /// A document is skipped, and can be read on demand.
    case skippedDocument
    /// A publisher that stays holds the lock as long as it runs.
    case longRun
}

/// A message that a dry run would send.
package struct MessagePreview: Sendable, Equatable, Encodable {
    package let category: String
    package let tags: String
    package let title: String
    /// The text that the list's template made, in its main language where it is told in that.
    package let text: String
    /// Those that it has a text in by name.
    package let languages: [String]
    package let body: String
    package let bytes: Int
    /// The number of recipients; `nil` where the hub does not tell.
    package let recipients: Int?
    package let platforms: [String: Int]

    private enum CodingKeys: CodingKey { case category, tags, title, languages, body, bytes, recipients, platforms }
}

/// The receiver of a pass's lines, called from several tasks while it runs.
package struct PublishReporter: Sendable {
    package let line: @Sendable (PublishLine) -> Void

    package init(line: @escaping @Sendable (PublishLine) -> Void) {
        self.line = line
    }

    func say(_ level: PublishLine.Level, _ text: String = "", hint: PublishHint? = nil, isRepeat: Bool = false) {
        line(PublishLine(level, text, hint: hint, isRepeat: isRepeat))
    }
}
