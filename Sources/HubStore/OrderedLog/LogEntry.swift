import Formats
import Foundation
import GRDB

/// One group commit as an ordered log stores it: the statements that write, and their effects.
package struct LogEntry: Sendable, Equatable {
    /// Random, so that two entries with equal statements differ.
    package private(set) var id = EntryID.random()
    /// The entry before this one.
    ///
    /// A log in which this chain of ids breaks is not the log that a node has followed.
    package let previous: EntryID
    /// Number of migrations in the schema that the statements were written for.
    package let schema: Int
    /// The node that made the commit.
    package let node: String
    package let statements: [RecordedStatement]
    package let effects: [LoggedEffect]
}

/// The name of an entry: 128 random bits.
package struct EntryID: Sendable, Hashable, CustomStringConvertible {
    static let count = 16
    /// The id before the first entry of a log.
    package static let none = EntryID(high: 0, low: 0)

    private let high: UInt64
    private let low: UInt64

    private init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static func random() -> EntryID {
        EntryID(high: .random(in: 1 ... .max), low: .random(in: .min ... .max))
    }

    /// - Returns: `nil` unless there are ``count`` bytes.
    init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == Self.count else { return nil }
        func number(_ bytes: some Sequence<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        self.init(high: number(bytes.prefix(8)), low: number(bytes.suffix(8)))
    }

    /// 32 hexadecimal digits.
    package var description: String { Hexadecimal.encode(bytes) }

    var bytes: [UInt8] {
        [high, low].flatMap { number in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> $0) }
        }
    }
}

/// The reason why an entry cannot be read.
package enum LogEntryError: Error, Equatable, CustomStringConvertible {
    case notAnEntry
    case newerFormat(Int)
    case damaged(String)

    package var description: String {
        switch self {
        case .notAnEntry: "not an entry of a hub's log"
        case .newerFormat(let format):
            "an entry has format \(format), and this version reads format \(LogEntry.format): install a newer version"
        case .damaged(let reason): "an entry is damaged: \(reason)"
        }
    }
}
