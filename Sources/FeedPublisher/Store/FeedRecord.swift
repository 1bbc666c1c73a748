internal import FeedLists
internal import Feeds
internal import FoundationEssentials
internal import HubProtocol

/// The stored state of one feed.
///
/// A pass changes its copy, and writes it in one transaction with everything else that one fetch changes.
struct FeedRecord: Sendable, Equatable {
    /// The present value of ``keysVersion``: links and titles have contents, titles and dates.
    static let currentKeys = 1

    /// The feed's number, to which the keys of entries refer: it never changes, even if the feed moves, and is never
    /// reused.
    let id: Int64
    /// The address in its list.
    let url: String
    /// The address to request instead, after a permanent redirect.
    var movedURL: String?
    var move: MoveCandidate?
    var validators = FeedValidators()
    /// SHA-256 of the last whole body.
    var bodyHash: [UInt8]?
    /// The time at which the server last sent a body rather than a 304.
    var bodyReceived: Date?
    /// Number of consecutive replies with the same body although validators were sent.
    var identicalAnswers = 0
    /// The time of the next turn; `nil` for at once.
    var due: DueTime?
    var pace = FeedPace()
    var failures = 0
    var failingSince: Date?
    /// The lasting failure, reported when it began; `nil` if there is none.
    var problem: FeedProblem?
    /// The time of the first success since the last failure, while the failure counts as lasting; `nil` if there is none.
    var recoveredAt: Date?
    var lastSuccess: Date?
    /// The latest credible date of an entry.
    var newestEntry: Date?
    /// The time when its entries were first recorded; before that, none is announced.
    var baseline: Date?
    /// Number of documents read, the clock by which keys age: the wall clock may jump by years.
    var readings: Int64 = 0
    /// The value of ``readings`` for the last document that was read to its end.
    var completeReading: Int64 = 0
    /// Number of consecutive documents that were not read to their end.
    var incompleteReadings = 0
    var identityRule = IdentityRule.id
    /// The version of the rules by which its keys were stored; ``currentKeys`` after a reading by this version.
    var keysVersion = 0
    var retired: Date?
    /// The time when one of its updates was last announced.
    var lastUpdate: Date?
    /// The earliest time at which a held entry is due.
    var heldUntil: Date?
    var title: String?
    /// The host of its page.
    var site: String?
    /// ``DocumentHead/text`` of a document of another site, if the last poll brought one.
    var foreignHead: String?
    var format: String?
    /// Its last polls, of which the last one was at ``polledAt``.
    var polls = FeedPolls()
    var polledAt: Date?
    /// The time when an operator has paused it; ``PublisherStore/pause(_:since:)`` changes it.
    var pausedAt: Date?

    /// Adds a poll.
    mutating func note(_ outcome: FeedPolls.Outcome, at now: Date) {
        let minutes = polledAt.map { Int(max(0, min(now.timeIntervalSince($0), 1e7)) / 60) } ?? 0
        polls.append(outcome, minutes: minutes)
        polledAt = now
    }

    /// Makes the next request ask for the whole document.
    mutating func forgetDocument() {
        validators = FeedValidators(url: validators.url)
        bodyHash = nil
        identicalAnswers = 0
    }

    /// True if the feed failed at its last turn, or could not be read completely.
    var isFailing: Bool { problem?.isFailure == true && recoveredAt == nil }

    /// True if held entries are due, so that the whole document is needed again.
    func hasHeldEntries(dueAt now: Date) -> Bool { heldUntil.map { $0 <= now } ?? false }

    /// Returns the address to request.
    func asked(_ source: FeedSource) -> FeedAddress {
        movedURL.flatMap { try? FeedAddress(parsing: $0, allowsFile: false) } ?? source.address
    }

    /// Returns the hosts that serve it, as ``FeedSource/politenessHost(_:)`` names them: the requested one, and the one
    /// that replied last after redirects; none for a file.
    func hosts(_ source: FeedSource) -> Set<String> {
        let answering = validators.url.flatMap { try? FeedAddress(parsing: $0, allowsFile: true) }
        return Set([asked(source), answering].compactMap { $0.map(source.politenessHost) }.filter { !$0.isEmpty })
    }

    /// True if the feed has moved to `address`: by a redirect, followed or not yet, or by a change of scheme only.
    func hasMoved(to address: FeedAddress) -> Bool {
        if movedURL == address.text || move?.url == address.text { return true }
        guard let own = try? FeedAddress(parsing: url, allowsFile: true) else { return false }
        return own.comparableWithoutScheme == address.comparableWithoutScheme
    }
}

/// `ETag` and `Last-Modified` exactly as received: servers compare for equality (feeds.md §10).
struct FeedValidators: Sendable, Equatable {
    var etag: [UInt8]?
    var lastModified: [UInt8]?
    /// The address that replied last, after redirects, even if it sent no validators.
    var url: String?

    var isEmpty: Bool { etag == nil && lastModified == nil }
}

/// A permanent redirect that is not followed yet.
struct MoveCandidate: Sendable, Equatable {
    var url: String
    var firstSeen: Date
    /// Number of polls at which the target was a valid feed.
    var polls: Int
}

/// A problem of a feed, reported once.
struct FeedProblem: Sendable, Equatable {
    /// A stable word for the kind; the same kind is not reported again.
    var kind: String
    /// The line that was reported.
    var line: String

    /// The ``kind`` of a document that is skipped because the program ended while it read it.
    static let endedProgram = "ended the program"

    /// The ``kind`` of a document of which only the first entries are read.
    static let truncated = "truncated"

    /// Kinds of failures that come and go with the load of a server and the state of the network.
    private static let passing: Set<String> = [
        "unreachable", "timed out", "cut", "status 408", "status 425", "status 429",
    ]
    /// The end of the ``kind`` of a failure that is reported once more because it lasts.
    static let lasting = ", long"

    /// True if failures of both kinds are one outage, which is reported once.
    static func isSameOutage(_ one: String, _ other: String) -> Bool {
        func outage(_ kind: String) -> String {
            let isLasting = kind.hasSuffix(lasting)
            let base = isLasting ? String(kind.dropLast(lasting.count)) : kind
            let isPassing = passing.contains(base) || base.hasPrefix("status 5")
            return (isPassing ? "outage" : base) + (isLasting ? lasting : "")
        }
        return outage(one) == outage(other)
    }

    /// False if the feed can be read, and its operator should only know of a limit.
    var isFailure: Bool { kind != Self.truncated }

    var hint: PublishHint? { kind.hasPrefix(Self.endedProgram) ? .skippedDocument : nil }
}

/// A wall-clock time and the length of the wait for it, so that jumps of the clock can be detected.
struct DueTime: Sendable, Equatable {
    var at: Date
    var wait: Duration

    /// True if the time has come, or is further ahead than the whole wait because the clock was set back.
    func hasCome(at now: Date) -> Bool {
        let ahead = at.timeIntervalSince(now)
        return ahead <= 0 || ahead > wait.inSeconds + Self.rounding
    }

    /// Seconds by which the stored time may differ from the stored wait: both are kept in whole milliseconds.
    private static let rounding = 0.002
}

extension DueTime {
    init(after wait: Duration, from now: Date) {
        self.init(at: now.addingTimeInterval(wait.inSeconds), wait: wait)
    }
}

extension FeedSource {
    /// Returns the name under which a host is spared: its name, and for a host of the user's own also the port, since
    /// each port may be another program.
    func politenessHost(_ address: FeedAddress) -> String {
        isLocal && address.host == self.address.host ? address.siteAuthority : address.host
    }
}

extension Duration {
    var inSeconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}

/// Records of the further lists that have a feed. They know its entries; the feed's own record knows how to fetch it.
extension FeedRecord {
    /// Returns the text by which a list's record is stored; an address contains no space.
    static func url(_ url: String, of category: String) -> String { "\(url) \(category)" }

    var isOfFurtherList: Bool { url.contains(" ") }

    /// Returns the part that concerns entries, as another record.
    func judged(number: Int64, url: String) -> FeedRecord {
        var copy = FeedRecord(id: number, url: url)
        copy.newestEntry = newestEntry
        copy.baseline = baseline
        copy.readings = readings
        copy.completeReading = completeReading
        copy.incompleteReadings = incompleteReadings
        copy.identityRule = identityRule
        copy.keysVersion = keysVersion
        copy.heldUntil = heldUntil
        copy.title = title
        copy.site = site
        copy.foreignHead = foreignHead
        copy.format = format
        return copy
    }

    /// Returns this record after a document, whose `reading` the feed's own record has counted.
    func read(as reading: FeedRecord) -> FeedRecord {
        var record = self
        record.readings += 1
        record.title = reading.title
        record.format = reading.format
        record.baseline = baseline ?? reading.baseline
        if reading.completeReading == reading.readings {
            record.completeReading = record.readings
            record.incompleteReadings = 0
        } else {
            record.incompleteReadings += 1
        }
        return record
    }
}
