package import HubProtocol

/// An event outside the log: of a stream, or a write of another process that this server has observed.
package enum StreamInput: Sendable {
    case attach(StreamRequest)
    /// A stream is not attached, for this reason.
    case refused(StreamID, ProtocolError)
    /// An installation has a stream at another node since this stamp.
    case openedElsewhere(Ordinal, stamp: UInt64, at: Timestamp)
    /// A stream has ended; `ending` is the reason, `nil` if the client or its connection ended it.
    case detached(StreamID, of: Ordinal, written: LogSequence, ending: StreamEnd?, at: Timestamp)
    /// Streams were written everything up to these sequences.
    case progress([StreamProgress])
    /// Other nodes have stored this progress of their streams.
    case progressElsewhere([StreamProgress])
    /// The store has saved this progress, of streams here and of streams at other nodes.
    case progressFlushed([Ordinal: StreamProgress], elsewhere: [Ordinal: StreamProgress])
    /// Another process has written rules; ``HubStatus/rulesRevision`` was `revision` before they were read.
    case rulesObserved(AccessRules, revision: Int)
    /// The server cannot follow the log for now: all streams end.
    case cutOff
    /// The server is stopping: all streams end, and no new ones are accepted.
    case stopping
}

/// A request for an installation's stream.
package struct StreamRequest: Sendable {
    package let id: StreamID
    package let installation: InstallationID
    package let grant: Grant
    package let channel: PushChannelSecret?
    /// `Last-Event-ID`: a position, or an excerpt of any other text; `nil` without one.
    package let cursor: String?
    package let at: Timestamp
    /// Orders the streams that an installation opens at several nodes; 0 if there is one node.
    package let stamp: UInt64

    package init(
        id: StreamID,
        installation: InstallationID,
        grant: Grant,
        channel: PushChannelSecret?,
        lastEventID: String?,
        at: Timestamp,
        stamp: UInt64 = 0
    ) {
        self.id = id
        self.stamp = stamp
        self.installation = installation
        self.grant = grant
        self.channel = channel
        self.at = at
        // The text is stored, and named in a gap, so a cursor that is not a position must be shortened.
        cursor = lastEventID.flatMap { $0.isEmpty ? nil : StreamPosition(parsing: $0)?.text ?? $0.excerpt }
    }
}

/// The reason why a hub ends a stream.
package enum StreamEnd: Sendable {
    /// Another stream of the same installation has replaced it.
    case replaced
    /// The installation, or the key that opened the stream, was removed.
    case revoked
    /// The hub is stopping; the agent reconnects later.
    case stopping
    /// The token that opened the stream has expired; the agent reconnects with a new one.
    case expired

    package var eventName: String? {
        switch self {
        case .replaced: StreamEventName.replaced
        case .revoked: StreamEventName.revoked
        case .stopping, .expired: nil
        }
    }
}

/// The progress of an installation's stream, for answering "did it get this?".
package struct StreamProgress: Sendable, Equatable {
    package var ordinal: Ordinal
    /// The stream was written everything up to this sequence.
    package var written: LogSequence
    /// The `Last-Event-ID` of the last connection.
    package var resumedFrom: String?
    package var connectedAt: Timestamp?
    package var disconnectedAt: Timestamp?
    /// The last time that a newer stream of the installation replaced an open one.
    package var replacedAt: Timestamp?
    /// The last time that the hub ended a stream because its key or secret was no longer valid.
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
    /// Combines two records: values that the newer one lacks stay, except that an open stream has no ending.
    package static func merged(_ known: StreamProgress?, _ newer: StreamProgress?) -> StreamProgress? {
        guard var merged = newer, let known else { return newer ?? known }
        // Another node may have written more since the connection that the newer one is about.
        if merged.connectedAt == nil { merged.written = max(merged.written, known.written) }
        merged.resumedFrom = merged.resumedFrom ?? known.resumedFrom
        merged.connectedAt = merged.connectedAt ?? known.connectedAt
        merged.replacedAt = merged.replacedAt ?? known.replacedAt
        merged.revokedAt = merged.revokedAt ?? known.revokedAt
        return merged
    }

    /// Combines the records of two nodes: the later connection counts.
    package static func latest(_ known: StreamProgress?, _ report: StreamProgress) -> StreamProgress {
        guard let known else { return report }
        let (one, other) = (known.connectedAt ?? .distantPast, report.connectedAt ?? .distantPast)
        var latest = one > other ? known : report
        if one == other {
            latest.written = max(known.written, report.written)
            latest.disconnectedAt = report.disconnectedAt ?? known.disconnectedAt
        }
        latest.replacedAt = [known.replacedAt, report.replacedAt].compactMap(\.self).max()
        latest.revokedAt = [known.revokedAt, report.revokedAt].compactMap(\.self).max()
        return latest
    }
}
