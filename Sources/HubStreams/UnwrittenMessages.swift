import HubProtocol
import NIOCore

/// The messages of one event loop that have not been written yet to all streams that were open when they came.
///
/// A message waits for cohorts, and a cohort has a message once each of its streams has it.
struct UnwrittenMessages {
    private struct Message {
        /// The time since the hub accepted it, when it came here.
        let age: Duration
        let begunAt: NIODeadline
        /// The number of cohorts that it waits for, and one more while it is being rendered.
        var parts = 1
        var firstAt: NIODeadline?
        var lastAt: NIODeadline?
    }

    /// The largest number of messages that wait at once; the times of others are not measured.
    private static let maximum = 1_000

    private var messages: [LogSequence: Message] = [:]

    /// Begins with a message that is about to be rendered.
    mutating func begin(_ sequence: LogSequence, age: Duration, at time: NIODeadline) {
        guard messages.count < Self.maximum else { return }
        messages[sequence] = Message(age: age, begunAt: time)
    }

    /// Adds a cohort with a stream that gets the message.
    ///
    /// - Returns: False for a message that is not measured.
    mutating func expect(_ sequence: LogSequence) -> Bool {
        guard messages[sequence] != nil else { return false }
        messages[sequence]?.parts += 1
        return true
    }

    /// Notes that some messages were written to a stream.
    mutating func note(_ sequences: [LogSequence], at time: NIODeadline) {
        for sequence in sequences where messages[sequence]?.firstAt == nil { messages[sequence]?.firstAt = time }
    }

    /// Ends one part of a message: its rendering, or a cohort of which the last write was at `lastWrite`.
    ///
    /// - Returns: Its times, if that was the last part and a stream got it.
    mutating func end(_ sequence: LogSequence, lastWrite: NIODeadline? = nil) -> StreamTimes? {
        guard var message = messages[sequence] else { return nil }
        message.parts -= 1
        if let lastWrite { message.lastAt = max(message.lastAt ?? lastWrite, lastWrite) }
        guard message.parts == 0 else {
            messages[sequence] = message
            return nil
        }
        messages[sequence] = nil
        guard let first = message.firstAt, let last = message.lastAt, last >= first else { return nil }
        func time(until end: NIODeadline) -> Duration {
            message.age + .nanoseconds((end - message.begunAt).nanoseconds)
        }
        return StreamTimes(first: time(until: first), last: time(until: last))
    }
}
