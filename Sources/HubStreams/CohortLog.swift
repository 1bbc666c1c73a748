package import HubProtocol
import HubRouting
package import NIOCore

/// Encoded messages, in log order, that have yet to be written to streams of one cohort.
///
/// There are entries only while a stream of the cohort lags. Dropped ones are read from the store.
package struct CohortEntries {
    package struct Entry {
        package let sequence: LogSequence
        package let bytes: ByteBuffer
        /// True if the entry announces that messages are missing, up to and including ``sequence``.
        package var isGap = false
    }

    private let maximumBytes: Int
    private(set) var entries: [Entry] = []
    /// A stream whose cursor is below this sequence must read from the store.
    private(set) var droppedThrough: LogSequence = 0
    /// Number of bytes held in memory.
    private(set) var bytes = 0

    /// The highest sequence ever appended.
    private(set) var last: LogSequence = 0

    /// - Parameter maximumBytes: Number of bytes kept for streams that lag; a single entry is always kept.
    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
        last = entry.sequence
        bytes += entry.bytes.readableBytes
        guard bytes > maximumBytes else { return }
        // Half at once, so that the array is shifted only occasionally.
        var kept = 0
        while bytes > maximumBytes / 2, kept < entries.count - 1 {
            bytes -= entries[kept].bytes.readableBytes
            droppedThrough = entries[kept].sequence
            kept += 1
        }
        entries.removeFirst(kept)
    }

    mutating func removeAll() {
        droppedThrough = last
        entries.removeAll()
        bytes = 0
    }

    /// The entries above a cursor.
    func entries(after cursor: LogSequence) -> ArraySlice<Entry> {
        var low = 0
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].sequence > cursor { high = middle } else { low = middle + 1 }
        }
        return entries[low...]
    }
}

/// A cohort on one event loop, to which it is confined: its streams there, and the entries they have yet to get.
final class CohortLog {
    typealias Entry = CohortEntries.Entry

    /// Messages in one buffer, for one write.
    struct Run {
        let messages: Int
        let gaps: Int
        let bytes: ByteBuffer

        /// - Parameter entries: Entries in log order; the result is `nil` if there are none.
        init?(_ entries: ArraySlice<Entry>) {
            guard let first = entries.first else { return nil }
            var bytes = first.bytes
            for entry in entries.dropFirst() { bytes.writeImmutableBuffer(entry.bytes) }
            gaps = entries.count(where: \.isGap)
            messages = entries.count - gaps
            self.bytes = bytes
        }
    }

    /// Represents the cohort: each of its streams gets the same events as this recipient.
    let recipient: Recipient
    let isHeavy: Bool
    /// True if the next round of writing includes the cohort's streams.
    var isTouched = false
    private(set) var log: CohortEntries
    private(set) var sessions: [UInt64: StreamSession] = [:]
    /// The last result of ``run(after:)``: most streams have the same cursor.
    private var joined: (after: LogSequence, last: LogSequence, run: Run)?
    /// Live streams, or their personal logs, have everything up to this sequence.
    private var completeThrough: LogSequence = 0
    /// Measured messages that a stream may lack, in log order.
    private(set) var unwritten: [LogSequence] = []
    /// The number of those that have come since the last write.
    private var freshCount = 0
    /// The time of the last write of messages.
    private(set) var lastWrite: NIODeadline?

    init(_ recipient: Recipient, maximumBytes: Int) {
        self.recipient = recipient
        isHeavy = recipient.isHeavy
        log = CohortEntries(maximumBytes: maximumBytes)
    }

    var last: LogSequence { log.last }

    func add(_ session: StreamSession) { sessions[session.id.number] = session }
    func remove(_ session: StreamSession) { sessions[session.id.number] = nil }

    /// Appends an entry; `head` is the sequence up to which everything was rendered before it.
    func append(_ entry: Entry, head: LogSequence) {
        if log.entries.isEmpty { completeThrough = head }
        log.append(entry)
    }

    /// The sequence up to which this log holds nothing that a live stream lacks.
    func complete(head: LogSequence) -> LogSequence { log.entries.isEmpty ? head : completeThrough }

    /// The entries above a cursor; `nil` if there are none.
    func run(after cursor: LogSequence) -> Run? {
        if let joined, joined.after == cursor, joined.last == last { return joined.run }
        let run = Run(log.entries(after: cursor))
        joined = run.map { (cursor, last, $0) }
        return run
    }

    /// Notes a measured message for streams of the cohort.
    func expect(_ sequence: LogSequence) {
        unwritten.append(sequence)
        // Those before it are not measured any more.
        if unwritten.count > UnwrittenMessages.maximum { unwritten.removeFirst() }
        freshCount = min(freshCount + 1, unwritten.count)
    }

    /// Notes a write of messages to a stream.
    ///
    /// - Returns: The messages that may have been written for the first time.
    func wrote(at time: NIODeadline) -> ArraySlice<LogSequence> {
        lastWrite = time
        defer { freshCount = 0 }
        return unwritten.suffix(freshCount)
    }

    /// Takes the messages that all streams have that were open when the messages came.
    func takeWritten() -> ArraySlice<LogSequence> {
        guard let oldest = unwritten.first else { return [] }
        var complete = LogSequence.end
        for session in sessions.values where session.hasPending || !session.isLive {
            complete = min(complete, max(session.cursor, session.since))
            if complete < oldest { return [] }
        }
        let written = unwritten.prefix { $0 <= complete }
        unwritten = Array(unwritten.dropFirst(written.count))
        freshCount = min(freshCount, unwritten.count)
        return written
    }

    /// Removes the entries if every stream has them.
    func trim() {
        guard !log.entries.isEmpty, !sessions.values.contains(where: { $0.hasPending || !$0.isLive }) else { return }
        drop()
    }

    /// Removes the entries; streams that lack them read them from the store.
    func drop() {
        log.removeAll()
        joined = nil
    }
}
