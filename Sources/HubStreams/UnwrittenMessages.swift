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

        /// `nil` if no stream got it.
        var times: StreamTimes? {
            guard let firstAt, let lastAt, lastAt >= firstAt else { return nil }
            func time(until end: NIODeadline) -> Duration { age + .nanoseconds((end - begunAt).nanoseconds) }
            return StreamTimes(first: time(until: firstAt), last: time(until: lastAt))
        }
    }

    /// The largest number of messages that wait at once.
    ///
    /// A reader that takes little makes all of its messages wait, and must not keep others from being measured.
    static let maximum = 256

    private var messages: [LogSequence: Message] = [:]

    /// Begins with a message that is about to be rendered.
    ///
    /// - Returns: The oldest message, if there are too many: a stream lacks it, and its time is that until now.
    mutating func begin(
        _ sequence: LogSequence,
        age: Duration,
        at time: NIODeadline
    ) -> (sequence: LogSequence, times: StreamTimes)? {
        var givenUp: (LogSequence, StreamTimes)?
        if messages.count == Self.maximum, let oldest = messages.keys.min() {
            messages[oldest]?.lastAt = time
            givenUp = messages.removeValue(forKey: oldest)?.times.map { (oldest, $0) }
        }
        messages[sequence] = Message(age: age, begunAt: time)
        return givenUp
    }

    /// Adds a cohort with a stream that gets the message.
    ///
    /// - Returns: False for a message that is not measured any more.
    mutating func expect(_ sequence: LogSequence) -> Bool {
        messages[sequence]?.parts += 1
        return messages[sequence] != nil
    }

    /// Notes that some messages were written to a stream.
    mutating func note(_ sequences: ArraySlice<LogSequence>, at time: NIODeadline) {
        for sequence in sequences where messages[sequence]?.firstAt == nil { messages[sequence]?.firstAt = time }
    }

    /// Ends one part of a message: its rendering, or a cohort of which the last write was at `lastWrite`.
    ///
    /// - Returns: Its times, if that was the last part and a stream got it.
    mutating func end(_ sequence: LogSequence, lastWrite: NIODeadline? = nil) -> StreamTimes? {
        guard var message = messages[sequence] else { return nil }
        message.parts -= 1
        if let lastWrite { message.lastAt = max(message.lastAt ?? lastWrite, lastWrite) }
        messages[sequence] = message.parts == 0 ? nil : message
        return message.parts == 0 ? message.times : nil
    }
}
