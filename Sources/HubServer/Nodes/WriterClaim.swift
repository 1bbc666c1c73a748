import HubProtocol
import HubStore

/// A node's claim to write, at one time: the node announces it, and a request that is passed to the node carries it back.
///
/// The clock is that of the process that claims, which alone reads it: clocks of nodes are never compared. A request is
/// therefore as old as the claim in it, wherever it waited on its way.
struct WriterClaim: Sendable, Equatable {
    /// The entry of the log with which the claim began.
    let since: UInt64
    /// A random number of the process: another process has another clock.
    let process: UInt64
    /// The time of the process's last look at the claims of others.
    let time: Duration
}

extension EntryWriter {
    mutating func append(_ claim: WriterClaim) {
        append(number: claim.since)
        append(number: claim.process)
        append(signed: claim.time.milliseconds)
    }
}

extension EntryReader {
    mutating func claim() throws(LogEntryError) -> WriterClaim {
        WriterClaim(since: try number(), process: try number(), time: .milliseconds(try signed()))
    }
}
