import Foundation
import GRDB
package import HubProtocol
package import HubRouting

/// A stored installation.
package struct StoredInstallation: Sendable, Equatable {
    /// The hub's number for the installation, which is never reused.
    package let ordinal: Ordinal
    /// Without tags and templates if ``isReadable`` is false.
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

/// The choice of an installation from a place in the log on.
package struct OwedRow: Sendable, Equatable {
    /// The row is in force for messages with a higher sequence, up to the next row.
    package let afterSequence: LogSequence
    let record: Data

    init(row: Row) {
        afterSequence = row["afterSequence"]
        record = row["record"]
    }

    /// Read only where it is needed, so that one that cannot be read spoils no other.
    package var installation: Installation {
        get throws { try Installation(record: record) }
    }
}

/// What the log holds, for people who watch it.
package struct LogSize: Sendable, Equatable {
    /// What messages were sent with: bodies, tags, headers and targets.
    package let bytes: Int64
    /// When the oldest row was written; `nil` in an empty log.
    package let oldest: Timestamp?
    /// Messages dropped by size, before they had expired, since the hub was made.
    package let droppedBySize: Int64
}

/// A run of the log, with what one installation was owed over it: all seen at one moment.
package struct OwedMessages: Sendable {
    /// Oldest first; empty for an installation that is gone.
    package let rows: [OwedRow]
    package let messages: [LoggedMessage]
    /// Where the installation was made, `nil` for one that is gone.
    package let createdSequence: LogSequence?
    /// All rows of the log up to this sequence were dropped.
    package let droppedThrough: LogSequence
}

/// What one step of dropping the oldest rows of the log has dropped.
package struct DroppedRows: Sendable, Equatable {
    package var rows = 0
    /// Messages among them that had not expired.
    package var bySize = 0
    /// The log holds nothing up to this sequence; `nil` when nothing was dropped.
    package var through: LogSequence?
    /// Bytes of messages that are left, as in ``LogSize/bytes``.
    package var bytesLeft: Int64 = 0
    /// There may be more to drop.
    package var hasMore = false
}
