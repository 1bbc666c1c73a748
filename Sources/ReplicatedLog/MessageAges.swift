import Signals

/// Finds messages of other processes that were on their way for too long, without comparing clocks.
///
/// The quickest message of a process shows by how much its clock and this one differ. Another message that seems to have
/// taken much longer waited in a buffer: of this process while it was paused, of the other one, or of a server.
struct MessageAges {
    /// Time on the way after which a message is late.
    static let limit = Duration.seconds(2)
    /// Time after which a process whose messages are all late is one whose clock has stood still, as that of a virtual
    /// machine does while it is paused.
    static let patience = Duration.seconds(10)
    /// Maximum number of processes; the one that was not heard for the longest time is forgotten.
    static let maximumProcesses = 64
    /// Part by which clocks may differ in speed.
    private static let drift = 1_000

    private struct Process {
        /// The clock of this process minus that of the other one, and the time on the way, for the quickest message.
        var offset: Duration
        var heard: Duration
        /// The first late message since the last one that was not late, and the quickest of them.
        var late: (since: Duration, offset: Duration)?
    }

    private var processes = BoundedTable<UInt64, Process>(maximumCount: maximumProcesses)

    /// Notes a message that a process sent at `sent` by its own clock, and that arrived at `now` by this one's.
    ///
    /// The first message of a process is never late: there is nothing to compare it with.
    mutating func isLate(from process: UInt64, sent: Duration, at now: Duration) -> Bool {
        let offset = now - sent
        guard var known = processes[process] else {
            processes[process] = Process(offset: offset, heard: now)
            return false
        }
        known.offset += (now - known.heard) / Self.drift
        known.heard = now
        defer { processes[process] = known }
        if offset > known.offset + Self.limit {
            let late = (since: known.late?.since ?? now, offset: min(known.late?.offset ?? offset, offset))
            known.late = late
            guard now - late.since >= Self.patience else { return true }
            known.offset = late.offset
        }
        known.offset = min(known.offset, offset)
        known.late = nil
        return false
    }
}
