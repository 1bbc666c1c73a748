package import FoundationEssentials
package import HostSystem
package import HubClient

/// The figures of a pass.
package struct PublishReport: Sendable, Equatable {
    /// The exit status; with `tryLater` nothing is lost, and `badConfiguration` means that the hub refuses us.
    package var exit = ExitStatus.done
    /// Number of feeds polled.
    package var polled = 0
    /// Number of ``polled`` feeds for which the server had nothing new.
    package var unchanged = 0
    /// Number of ``polled`` feeds without a readable document.
    package var failedFeeds = 0
    /// Number of new entries with a message.
    package var announced = 0
    /// Number of new entries recorded without a message.
    package var recorded = 0
    /// Number of messages that the hub accepted, digests included.
    package var sent = 0
    package var digests = 0
    /// Number of messages that the hub will never accept.
    package var refused = 0
    /// Number of messages that are still waiting.
    package var pending = 0
    /// The earliest time at which a message can be sent that is held back by its hour or by
    /// the cap.
    package var waitsUntil: Date?

    package init() {}

    /// Adds a feed's turn.
    mutating func add(_ outcome: FeedPoll.Outcome) {
        polled += outcome.isPolled ? 1 : 0
        unchanged += outcome.isPolled && outcome.isUnchanged ? 1 : 0
        failedFeeds += outcome.failure == nil ? 0 : 1
        announced += outcome.announced
        recorded += outcome.recorded
    }

    /// Adds the figures of another part of the work, but neither its exit status nor its pending messages.
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
    /// The text; empty if there is only a hint.
    package let text: String
    package let hint: PublishHint?
    /// True if an earlier pass reported the line: it is shown at a terminal, and not under cron.
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
    /// A document was skipped, and can be read on demand.
    case skippedDocument
    /// A publisher that keeps running holds the lock as long as it runs.
    case longRun
}

/// A message that a dry run would send.
package struct MessagePreview: Sendable, Equatable, Encodable {
    package let category: String
    package let tags: String
    package let title: String
    /// The text that the list's template rendered, in the main language if there is one.
    package let text: String
    /// The languages for which it has a separate text.
    package let languages: [String]
    package let body: String
    package let bytes: Int
    /// Number of recipients; `nil` if the hub does not report it.
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
