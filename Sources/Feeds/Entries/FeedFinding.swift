package import FoundationEssentials

/// A fault that a feed's publisher should know about, or that makes the feed harder to follow.
package enum FeedFinding: Sendable, Equatable, CustomStringConvertible {
    case malformed(String)
    case incomplete
    case truncated
    case empty
    case indistinguishable(entries: Int)
    case withoutIdentifier(entries: Int)
    case repeatedIdentifier(entries: Int)
    case sharedIdentifier
    case withoutTitle(entries: Int)
    case withoutLink(entries: Int)
    case withoutDate(entries: Int)
    case inTheFuture(entries: Int)
    case notForThePublic(alerts: Int)
    case expired(alerts: Int)

    package var description: String {
        switch self {
        case .malformed(let reason): "not well-formed, but read: \(reason)"
        case .incomplete: "truncated, or over a limit: entries after the last complete one are missing"
        case .truncated:
            "more than \(FeedReader.maximumEntries) entries: only the newest \(FeedReader.maximumEntries) are read"
        case .empty: "no entries"
        case .indistinguishable(let count):
            "\(Self.entries(count)) without identifier, link, title and text cannot be distinguished and \(Self.be(count)) left out"
        case .withoutIdentifier(let count):
            "\(Self.entries(count)) without identifier: identified by link, or else by title and date"
        case .repeatedIdentifier(let count):
            "\(Self.entries(count)) with the identifier of another entry: only one of them is read"
        case .sharedIdentifier: "nearly all entries have the same identifier: it is not used"
        case .withoutTitle(let count): "\(Self.entries(count)) without title"
        case .withoutLink(let count): "\(Self.entries(count)) without link"
        case .withoutDate(let count): "\(Self.entries(count)) without a readable date"
        case .inTheFuture(let count): "\(Self.entries(count)) dated in the future"
        case .notForThePublic(let count): "\(Self.entries(count)) with a test alert, or one that is not public"
        case .expired(let count): "\(Self.entries(count)) with an alert that has expired"
        }
    }

    private static func entries(_ count: Int) -> String { count == 1 ? "1 entry" : "\(count) entries" }
    private static func be(_ count: Int) -> String { count == 1 ? "is" : "are" }
}

extension Feed {
    /// The number of seconds by which a date may be in the future without a finding, since clocks differ.
    private static let clockSlack = 600.0

    /// The feed's faults, worst first.
    package func findings(now: Date) -> [FeedFinding] {
        var findings = malformed.map { [FeedFinding.malformed($0)] } ?? []
        if !isComplete { findings.append(.incomplete) }
        if isTruncated { findings.append(.truncated) }
        if entries.isEmpty { findings.append(.empty) }
        let (rule, identities) = identity(startingAt: .id)
        let identifiers = entries.compactMap(\.id)
        let repeated = identifiers.count - Set(identifiers).count
        if repeated > 0 {
            findings.append(rule > .id ? .sharedIdentifier : .repeatedIdentifier(entries: repeated))
        }
        let nameless = entries.count { $0.id == nil && $0.link == nil && $0.title == nil && $0.summary == nil }
        let known = identities.isEmpty ? 0 : entries.count - identifiers.count - nameless
        let counts: [(Int, (Int) -> FeedFinding)] = [
            (nameless, FeedFinding.indistinguishable), (known, FeedFinding.withoutIdentifier),
            (entries.count { $0.title == nil }, FeedFinding.withoutTitle),
            (entries.count { $0.link == nil }, FeedFinding.withoutLink),
            (entries.count { $0.date == nil }, FeedFinding.withoutDate),
            (
                entries.count { ($0.date?.timeIntervalSince(now) ?? 0) > Self.clockSlack }, FeedFinding.inTheFuture
            ),
            (entries.count { $0.alert?.isForThePublic == false }, FeedFinding.notForThePublic),
            (entries.count { $0.alert?.expires.map { $0 < now } ?? false }, FeedFinding.expired),
        ]
        return findings + counts.filter { $0.0 > 0 }.map { $0.1($0.0) }
    }
}
