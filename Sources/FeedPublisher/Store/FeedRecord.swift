internal import FeedLists
internal import Feeds
internal import FoundationEssentials

/// The publisher's memory of one feed between passes.
///
/// A value: a pass changes its copy, and writes it in the transaction of everything else that one fetch changes.
struct FeedRecord: Sendable, Equatable {
    /// Stable for ever and never used again; the keys of entries hang on it, so that a feed may move.
    let id: Int64
    /// As the list gives it.
    let url: String
    /// The address to ask instead, after a permanent move was believed.
    var movedURL: String?
    var move: MoveCandidate?
    var validators = Validators()
    /// SHA-256 of the last whole body.
    var bodyHash: [UInt8]?
    /// Answers in a row that brought the same body although validators were sent.
    var identicalAnswers = 0
    /// `nil`: at once.
    var due: DueTime?
    var pace = FeedPace()
    var failures = 0
    var failingSince: Date?
    /// The failure that lasts, reported when it began; `nil` when the feed is well.
    var trouble: FeedTrouble?
    var lastSuccess: Date?
    /// The latest date seen on an entry, as far as it was to be believed.
    var newestEntry: Date?
    /// The time when its entries were first recorded; before that nothing of it is announced.
    var baseline: Date?
    /// Documents read, the clock by which keys age: the wall clock may jump by years.
    var readings: Int64 = 0
    /// The ``readings`` of the last document that was read to its end.
    var completeReading: Int64 = 0
    /// Documents in a row that were not read to their end.
    var incompleteReadings = 0
    var identityRule = IdentityRule.id
    var retired: Date?
    /// The time when one of its updates was last announced.
    var lastUpdate: Date?
    /// The time when the first of its entries that wait for their dates is due.
    var heldUntil: Date?
    var title: String?
    var format: String?

    /// Makes the next request ask for the whole document, whatever was read before.
    mutating func forgetDocument() {
        validators = Validators(url: validators.url)
        bodyHash = nil
        identicalAnswers = 0
    }

    /// True if entries that waited for their dates are due: then the whole document is wanted again.
    func hasHeldEntries(dueAt now: Date) -> Bool { heldUntil.map { $0 <= now } ?? false }

    /// The address that is asked now.
    func asked(_ source: FeedSource) -> FeedAddress {
        movedURL.flatMap { try? FeedAddress(parsing: $0, allowsFile: false) } ?? source.address
    }

    /// The hosts that serve it: the one that is asked, and the one that answered last after redirects; none for a file.
    func hosts(_ source: FeedSource) -> Set<String> {
        let answering = validators.url.flatMap { try? FeedAddress(parsing: $0, allowsFile: true) }
        return Set([asked(source).host, answering?.host ?? ""].filter { !$0.isEmpty })
    }

    /// True if another address is where this feed went: a believed or suspected move, or only another scheme.
    func hasMoved(to address: FeedAddress) -> Bool {
        if movedURL == address.text || move?.url == address.text { return true }
        guard let own = try? FeedAddress(parsing: url, allowsFile: true) else { return false }
        return own.comparableWithoutScheme == address.comparableWithoutScheme
    }
}

/// `ETag` and `Last-Modified` exactly as received: servers compare for equality (feeds.md §10).
struct Validators: Sendable, Equatable {
    var etag: [UInt8]?
    var lastModified: [UInt8]?
    /// The address that gave them: the one that answered last, after redirects, also where it gave none.
    var url: String?

    var isEmpty: Bool { etag == nil && lastModified == nil }
}

/// A permanent redirect that is not believed yet.
struct MoveCandidate: Sendable, Equatable {
    var url: String
    var firstSeen: Date
    /// Polls at which the target was a valid feed.
    var polls: Int
}

/// A state of a feed that was reported once.
struct FeedTrouble: Sendable, Equatable {
    /// Stable word for the kind; the same kind again is not news.
    var kind: String
    /// The line that was said.
    var line: String

    /// The ``kind`` of a document that is skipped because the program ended while it read it.
    static let endedProgram = "ended the program"

    /// The ``kind`` of a document of which only the first entries are read.
    static let truncated = "truncated"

    /// False if the feed is read as it should be, and its operator should know something nevertheless.
    var isFailure: Bool { kind != Self.truncated }

    var hint: PublishHint? { kind.hasPrefix(Self.endedProgram) ? .skippedDocument : nil }
}

/// A wall-clock time together with how long the wait for it is, so that a clock that jumped can be seen through.
struct DueTime: Sendable, Equatable {
    var at: Date
    var wait: Duration

    init(after wait: Duration, from now: Date) {
        at = now.addingTimeInterval(wait.inSeconds)
        self.wait = wait
    }

    init(at: Date, wait: Duration) {
        self.at = at
        self.wait = wait
    }

    /// Also true when the time lies further ahead than the whole wait: then the clock was set back meanwhile.
    func hasCome(at now: Date) -> Bool {
        let ahead = at.timeIntervalSince(now)
        return ahead <= 0 || ahead > wait.inSeconds + Self.rounding
    }

    /// Seconds by which the stored time may lie behind the stored wait: both are kept in whole milliseconds.
    private static let rounding = 0.002
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
