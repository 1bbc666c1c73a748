import Foundation
package import HubProtocol

/// A hub of this server.
package struct HubRecord: Sendable, Equatable {
    package let id: Int64
    package let name: HubName
}

/// An installation as it stands, with what only the hub knows of it.
package struct StoredInstallation: Sendable, Equatable {
    /// The hub's own number for it, never given to another one.
    package let ordinal: Int64
    /// Without tags and templates if ``isReadable`` is false.
    package let installation: Installation
    /// SHA-256 of a `stream` installation's push channel; the secret itself is not kept.
    package let channelDigest: [UInt8]?
    /// Its place in the log: a stream without a cursor starts here.
    package let createdSequence: Int64
    /// Its record could be read; if not, a new one can be put in its place, by whoever could before.
    package var isReadable = true
}

/// What a write of an installation has done.
package struct InstallationWrite: Sendable {
    package let stored: StoredInstallation
    /// The change's; `nil` when what the installation is owed stays as it was.
    package var sequence: Int64?
    /// What became of its registrations; empty when they are as they were.
    package var changes: [TargetChange] = []
}

/// What an installation wanted from a place in the log on.
package struct OwedRow: Sendable, Equatable {
    /// The row is in force for messages with a higher sequence, up to the next row.
    package let afterSequence: Int64
    let record: Data

    /// Read only where it is needed, so that one that cannot be read spoils no other.
    package var installation: Installation {
        get throws { try Installation(record: record) }
    }
}

/// One start of a hub: cursors name it, so that a restored older copy of the file cannot pass for the newer one.
package struct Epoch: Sendable, Equatable {
    package let name: String
    package let firstSequence: Int64

    package init(name: String, firstSequence: Int64) {
        self.name = name
        self.firstSequence = firstSequence
    }
}

/// How far the log reaches.
package struct LogExtent: Sendable, Equatable {
    /// The highest sequence ever given, 0 in a new log.
    package let top: Int64
    /// All rows up to this sequence were dropped.
    package let droppedThrough: Int64
    /// Messages dropped by size, before they had expired, since the hub was made.
    package let droppedBySize: Int64
}

/// What the log holds, for people who watch it.
package struct LogSize: Sendable, Equatable {
    /// What messages were sent with: bodies, tags, headers and targets.
    package let bytes: Int64
    /// When the oldest row was written; `nil` in an empty log.
    package let oldest: Int64?
    /// Messages dropped by size, before they had expired, since the hub was made.
    package let droppedBySize: Int64
}

/// A run of the log, with what one installation was owed over it: all seen at one moment.
package struct OwedMessages: Sendable {
    /// Oldest first; empty for an installation that is gone.
    package let rows: [OwedRow]
    package let messages: [LoggedMessage]
    /// Where the installation was made, `nil` for one that is gone.
    package let createdSequence: Int64?
    /// All rows of the log up to this sequence were dropped.
    package let droppedThrough: Int64
}

/// What is known of an installation's stream, for answering "did it get this?".
package struct StreamProgress: Sendable, Equatable {
    package var ordinal: Int64
    /// The stream was written everything up to this sequence.
    package var written: Int64
    /// The last `Last-Event-ID` it came with.
    package var resumedFrom: String?
    package var connectedAt: Int64?
    package var disconnectedAt: Int64?
    /// When a newer stream of the installation last took the place of an open one.
    package var replacedAt: Int64?
    /// When the hub last ended a stream because its key or its secret was no longer good.
    package var revokedAt: Int64?

    package init(
        ordinal: Int64,
        written: Int64,
        resumedFrom: String? = nil,
        connectedAt: Int64? = nil,
        disconnectedAt: Int64? = nil,
        replacedAt: Int64? = nil,
        revokedAt: Int64? = nil
    ) {
        self.ordinal = ordinal
        self.written = written
        self.resumedFrom = resumedFrom
        self.connectedAt = connectedAt
        self.disconnectedAt = disconnectedAt
        self.replacedAt = replacedAt
        self.revokedAt = revokedAt
    }
}

extension StreamProgress {
    /// What is known when something newer comes: what that does not say stays, but a stream that is open has not ended.
    package static func merged(_ known: StreamProgress?, _ newer: StreamProgress?) -> StreamProgress? {
        guard var merged = newer, let known else { return newer ?? known }
        merged.resumedFrom = merged.resumedFrom ?? known.resumedFrom
        merged.connectedAt = merged.connectedAt ?? known.connectedAt
        merged.replacedAt = merged.replacedAt ?? known.replacedAt
        merged.revokedAt = merged.revokedAt ?? known.revokedAt
        return merged
    }
}

/// What one step of dropping the oldest rows of the log has dropped.
package struct DroppedRows: Sendable, Equatable {
    package var rows = 0
    /// Messages among them that had not expired.
    package var bySize = 0
    /// The log holds nothing up to this sequence; `nil` when nothing was dropped.
    package var through: Int64?
    /// Bytes of messages that are left, as in ``LogSize/bytes``.
    package var bytesLeft: Int64 = 0
}
