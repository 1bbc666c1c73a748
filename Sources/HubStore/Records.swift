import Foundation
import GRDB
package import HubProtocol
package import HubRouting

/// A stored installation.
package struct StoredInstallation: Sendable, Equatable {
    /// The hub's number for the installation, which is never reused.
    package let ordinal: Ordinal
    /// Has no more than id, expiry and platform if ``isReadable`` is false.
    package let installation: Installation
    /// SHA-256 of the push channel of a `stream` installation; the secret itself is not stored.
    package let channelDigest: [UInt8]?
    /// The sequence of its creation, where a stream without a cursor starts.
    package let createdSequence: LogSequence
    /// False if the record cannot be read; the owner of the installation can replace it.
    package var isReadable = true
}

extension Registry.Entry {
    /// `nil` for an installation that is not of platform `stream`.
    package init?(_ stored: StoredInstallation) throws {
        guard let digest = stored.channelDigest else { return nil }
        self.init(
            ordinal: stored.ordinal,
            id: stored.installation.id,
            channelDigest: digest,
            createdSequence: stored.createdSequence,
            recipient: try Recipient(stored.installation)
        )
    }
}

/// The result of writing an installation.
package struct InstallationWrite: Sendable {
    package let stored: StoredInstallation
    /// The sequence of the change; `nil` if the installation gets the same messages as before.
    package var sequence: LogSequence?
    /// Changes of its registrations; empty if none has changed.
    package var changes: [TargetChange] = []
}

/// An installation's choice, in force from a sequence in the log.
package struct PendingRow: Sendable, Equatable {
    /// The row is in force for messages with a higher sequence, up to the next row.
    package let afterSequence: LogSequence
    let record: Data

    init(row: Row) {
        afterSequence = row["afterSequence"]
        record = row["record"]
    }

    /// Decoded on demand, so that one unreadable record does not affect others.
    package var installation: Installation {
        get throws { try Installation(record: record) }
    }
}

/// The size of the log, for monitoring.
package struct LogSize: Sendable, Equatable {
    /// Bytes of messages: bodies, tags, headers and targets.
    package let bytes: Int64
    /// The time at which the oldest row was written; `nil` for an empty log.
    package let oldest: Timestamp?
    /// Number of messages dropped by size before they expired, since the hub was created.
    package let droppedBySize: Int64
}

/// A range of the log with the choices of one installation over it, read in one snapshot.
package struct PendingMessages: Sendable {
    /// Oldest first; empty if the installation is gone.
    package let rows: [PendingRow]
    package let messages: [LoggedMessage]
    /// The sequence at which the installation was created; `nil` if it is gone.
    package let createdSequence: LogSequence?
    /// All rows of the log up to this sequence were dropped.
    package let droppedThrough: LogSequence
}

/// The result of one step of dropping the log's oldest rows.
package struct DroppedRows: Sendable, Equatable {
    package var rows = 0
    /// Number of dropped messages that had not expired.
    package var bySize = 0
    /// The log holds nothing up to this sequence; `nil` if nothing was dropped.
    package var through: LogSequence?
    /// Bytes of the messages that are left, as in ``LogSize/bytes``.
    package var bytesLeft: Int64 = 0
    /// True if there may be more to drop.
    package var hasMore = false
}
