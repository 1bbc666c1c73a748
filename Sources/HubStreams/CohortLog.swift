package import HubProtocol
import HubRouting
package import NIOCore

/// Encoded messages that the streams of one cohort have yet to be written, in the order of the log.
///
/// It holds something only while a stream of the cohort lags; what it drops is read from the store.
package struct CohortEntries {
    package struct Entry {
        package let sequence: LogSequence
        package let bytes: ByteBuffer
        /// It says that messages are missing, up to and with the one of this sequence.
        package let isGap: Bool

        package init(sequence: LogSequence, bytes: ByteBuffer, isGap: Bool = false) {
            self.sequence = sequence
            self.bytes = bytes
            self.isGap = isGap
        }
    }

    private let maximumBytes: Int
    private(set) var entries: [Entry] = []
    /// A stream whose cursor is below this must go to the store.
    private(set) var droppedThrough: LogSequence = 0
    /// Held in memory.
    private(set) var bytes = 0

    /// The highest sequence ever appended.
    private(set) var last: LogSequence = 0

    /// - Parameter maximumBytes: Kept for streams that lag; a single entry always is.
    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    mutating func append(_ entry: Entry) {
        entries.append(entry)
        last = entry.sequence
        bytes += entry.bytes.readableBytes
        guard bytes > maximumBytes else { return }
        // Half at once, so that a lagging stream costs a shift of the array only now and then.
        var kept = 0
        while bytes > maximumBytes / 2, kept < entries.count - 1 {
            bytes -= entries[kept].bytes.readableBytes
            droppedThrough = entries[kept].sequence
            kept += 1
        }
        entries.removeFirst(kept)
    }

    /// Forgets everything, as every stream has it.
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

/// A cohort on one event loop, to which it is confined: its streams there and what they have yet to be written.
final class CohortLog {
    typealias Entry = CohortEntries.Entry

    /// Messages in one buffer, for one write.
    struct Run {
        let messages: Int
        let gaps: Int
        let bytes: ByteBuffer

        /// - Parameter entries: In the order of the log; `nil` is made of none.
        init?(_ entries: ArraySlice<Entry>) {
            guard let first = entries.first else { return nil }
            var bytes = first.bytes
            for entry in entries.dropFirst() { bytes.writeImmutableBuffer(entry.bytes) }
            gaps = entries.count(where: \.isGap)
            messages = entries.count - gaps
            self.bytes = bytes
        }
    }

    /// Every stream of the cohort gets what this recipient gets.
    let recipient: Recipient
    let isHeavy: Bool
    /// Something was appended since its streams were last written to.
    var isTouched = false
    private(set) var log: CohortEntries
    private(set) var sessions: [UInt64: StreamSession] = [:]
    /// All that is above a cursor: most streams have the same one.
    private var joined: (after: LogSequence, last: LogSequence, run: Run)?
    /// Live streams have everything up to here, or their personal logs do.
    private var completeThrough: LogSequence = 0

    init(_ recipient: Recipient, maximumBytes: Int) {
        self.recipient = recipient
        isHeavy = recipient.isHeavy
        log = CohortEntries(maximumBytes: maximumBytes)
    }

    var last: LogSequence { log.last }

    func add(_ session: StreamSession) { sessions[session.id.number] = session }
    func remove(_ session: StreamSession) { sessions[session.id.number] = nil }

    /// Appends an entry; `head` is the last sequence that was handed out before it.
    func append(_ entry: Entry, head: LogSequence) {
        if log.entries.isEmpty { completeThrough = head }
        log.append(entry)
    }

    /// Up to where this log has nothing for a live stream that it was not handed.
    func complete(head: LogSequence) -> LogSequence { log.entries.isEmpty ? head : completeThrough }

    /// All that is above a cursor, `nil` when there is nothing.
    func run(after cursor: LogSequence) -> Run? {
        if let joined, joined.after == cursor, joined.last == last { return joined.run }
        let run = Run(log.entries(after: cursor))
        joined = run.map { (cursor, last, $0) }
        return run
    }

    /// Forgets what every stream has.
    func trim() {
        guard !log.entries.isEmpty, !sessions.values.contains(where: { $0.hasPending || !$0.isLive }) else { return }
        drop()
    }

    /// Forgets everything; streams that lack it read it from the store.
    func drop() {
        log.removeAll()
        joined = nil
    }
}
