/// A place in a hub's log: the number of a message, in the order in which the hub accepted it; a cursor is one.
package struct LogSequence: StoredNumber {
    /// Before the first message.
    package static let start = LogSequence(rawValue: 0)
    /// A place after every message.
    package static let end = LogSequence(rawValue: .max)

    /// At least 0.
    package let rawValue: Int64

    package init(rawValue: Int64) { self.rawValue = rawValue }

    /// The place of the next message.
    package var next: LogSequence { LogSequence(rawValue: rawValue + 1) }

    /// The place of the message before.
    package var previous: LogSequence { LogSequence(rawValue: rawValue - 1) }
}
