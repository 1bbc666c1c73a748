package import HubProtocol

/// What happens at this server beside the log: its streams, and what it sees of others' writes.
package enum StreamInput: Sendable {
    case attach(StreamRequest)
    /// A stream has ended; `ending` is why, `nil` if the client or its connection ended it.
    case detached(StreamID, of: Ordinal, written: LogSequence, ending: StreamEnd?, at: Timestamp)
    /// Streams were written everything up to these sequences.
    case progress([StreamProgress])
    /// The store has taken this over.
    case progressFlushed([Ordinal: StreamProgress])
    /// Another process has written rules; ``HubStatus/rulesRevision`` was `revision` before they were read.
    case rulesObserved(AccessRules, revision: Int)
    /// The server stops: all streams end and none is let in.
    case stopping
}

/// A request for an installation's stream.
package struct StreamRequest: Sendable {
    package let id: StreamID
    package let installation: InstallationID
    package let grant: Grant
    package let channel: PushChannelSecret?
    /// `Last-Event-ID`: a position, else the beginning of what was sent; `nil` for none.
    package let cursor: String?
    package let at: Timestamp

    package init(
        id: StreamID,
        installation: InstallationID,
        grant: Grant,
        channel: PushChannelSecret?,
        lastEventID: String?,
        at: Timestamp
    ) {
        self.id = id
        self.installation = installation
        self.grant = grant
        self.channel = channel
        self.at = at
        // It is kept, and named in a gap: what is not a position may be long.
        cursor = lastEventID.flatMap { $0.isEmpty ? nil : StreamPosition(parsing: $0)?.text ?? $0.excerpt }
    }
}

/// Why a hub ends a stream.
package enum StreamEnd: Sendable {
    /// Another stream of the same installation has replaced it.
    case replaced
    /// The installation is gone, or the key that opened the stream.
    case revoked
    /// The hub stops; the agent comes back.
    case stopping
    /// The token that opened it has expired; the agent comes back with a new one.
    case expired

    package var eventName: String? {
        switch self {
        case .replaced: StreamEventName.replaced
        case .revoked: StreamEventName.revoked
        case .stopping, .expired: nil
        }
    }
}

/// How far an installation's stream is, for answering "did it get this?".
package struct StreamProgress: Sendable, Equatable {
    package var ordinal: Ordinal
    /// The stream was written everything up to this sequence.
    package var written: LogSequence
    /// The last `Last-Event-ID` it came with.
    package var resumedFrom: String?
    package var connectedAt: Timestamp?
    package var disconnectedAt: Timestamp?
    /// When a newer stream of the installation last replaced an open one.
    package var replacedAt: Timestamp?
    /// When the hub last ended a stream because its key or its secret was no longer valid.
    package var revokedAt: Timestamp?

    package init(
        ordinal: Ordinal,
        written: LogSequence,
        resumedFrom: String? = nil,
        connectedAt: Timestamp? = nil,
        disconnectedAt: Timestamp? = nil,
        replacedAt: Timestamp? = nil,
        revokedAt: Timestamp? = nil
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
    /// Combines two records; what the newer one leaves out stays, but a stream that is open has not ended.
    package static func merged(_ known: StreamProgress?, _ newer: StreamProgress?) -> StreamProgress? {
        guard var merged = newer, let known else { return newer ?? known }
        merged.resumedFrom = merged.resumedFrom ?? known.resumedFrom
        merged.connectedAt = merged.connectedAt ?? known.connectedAt
        merged.replacedAt = merged.replacedAt ?? known.replacedAt
        merged.revokedAt = merged.revokedAt ?? known.revokedAt
        return merged
    }
}
