/// The last polls of one feed, oldest first, in the form of reports: `r0u15f30`.
///
/// A letter is an outcome, and the number after it the minutes since the poll before.
package struct FeedPolls: Sendable, Equatable {
    package enum Outcome: Character, Sendable, CaseIterable {
        /// A document was read.
        case read = "r"
        /// The feed had not changed.
        case unchanged = "u"
        case failed = "f"

        /// The words for people.
        package var name: String {
            switch self {
            case .read: "read"
            case .unchanged: "not changed"
            case .failed: "failed"
            }
        }
    }

    package struct Poll: Sendable, Equatable {
        package let outcome: Outcome
        /// Minutes since the poll before; 0 for the first one.
        package let minutes: Int
    }

    /// The number of polls that are kept.
    package static let maximumCount = 24
    private static let maximumMinutes = 99_999

    package private(set) var all: [Poll] = []

    package init() {}

    /// Reads the form of reports, as far as it is valid.
    package init(_ text: String) {
        var rest = Substring(text)
        while let outcome = rest.popFirst().flatMap(Outcome.init(rawValue:)) {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            guard digits.count <= 5, let minutes = Int(digits) else { return }
            rest = rest.dropFirst(digits.count)
            append(outcome, minutes: minutes)
        }
    }

    package var text: String { all.map { "\($0.outcome.rawValue)\($0.minutes)" }.joined() }

    package mutating func append(_ outcome: Outcome, minutes: Int) {
        all.append(Poll(outcome: outcome, minutes: min(max(0, minutes), Self.maximumMinutes)))
        if all.count > Self.maximumCount { all.removeFirst() }
    }
}

/// The numbers of a publisher's polls by outcome, in hours that follow each other.
package struct PollHours: Sendable, Equatable, Codable {
    /// Maximum number of hours.
    package static let maximumCount = 72

    /// The beginning of the first hour.
    package let start: String
    package var read: [Int] = []
    package var unchanged: [Int] = []
    package var failed: [Int] = []

    package init(start: String) { self.start = start }

    /// True if it has numbers of the same hours.
    package var isValid: Bool {
        let lists = [read, unchanged, failed]
        return lists.allSatisfy { list in
            list.count <= Self.maximumCount && list.count == read.count
                && list.allSatisfy { (0...PublisherReport.maximumCount).contains($0) }
        }
    }
}
