package import HubProtocol

/// An installation was put or removed.
package struct InstallationEffect: Sendable {
    package let ordinal: Ordinal
    /// `nil` if the installation is gone, or not on platform `stream`.
    package let entry: Registry.Entry?
    /// The sequence of the change; `nil` if the installation gets the same messages as before.
    package let sequence: LogSequence?
    /// Changes of its registrations, and of those that it replaces; empty if nothing changed.
    package let targets: [TargetChange]
    package var replaced: [TargetChange]
    /// True if its stream was opened with a secret that is no longer valid, or the installation is gone.
    package let endsStream: Bool

    package init(
        ordinal: Ordinal,
        entry: Registry.Entry?,
        sequence: LogSequence?,
        targets: [TargetChange],
        replaced: [TargetChange] = [],
        endsStream: Bool
    ) {
        self.ordinal = ordinal
        self.entry = entry
        self.sequence = sequence
        self.targets = targets
        self.replaced = replaced
        self.endsStream = endsStream
    }
}

/// The part of a hub's description that decides about requests.
package struct HubPolicy: Sendable, Equatable {
    /// The hub's own rules.
    package var rules: [AccessRule]
    /// The lifetime of a registration after its last write; `nil` means forever.
    package var registrationLifetime: Duration?
    /// True if the hub refuses registrations and messages.
    package var isDisabled: Bool
    /// The hub's credentials for push services.
    package var credentials: [PlatformCredential]

    package init(
        rules: [AccessRule] = [],
        registrationLifetime: Duration? = nil,
        isDisabled: Bool = false,
        credentials: [PlatformCredential] = []
    ) {
        self.rules = rules
        self.registrationLifetime = registrationLifetime
        self.isDisabled = isDisabled
        self.credentials = credentials
    }
}

/// The extent of the log.
package struct LogExtent: Sendable, Equatable {
    /// The highest sequence assigned, 0 in a new log.
    package let top: LogSequence
    /// All rows up to this sequence were dropped.
    package let droppedThrough: LogSequence

    package init(top: LogSequence, droppedThrough: LogSequence) {
        self.top = top
        self.droppedThrough = droppedThrough
    }
}

/// The number of a message's recipients in one state of the registry.
package struct Matched: Sendable {
    package static let nobody = Matched(counts: RecipientCounts(total: 0, platforms: [:]), changes: nil)

    package let counts: RecipientCounts
    /// ``Registry/changes`` in that state; `nil` for counts of named targets, which do not depend on it.
    package let changes: Int?

    package init(counts: RecipientCounts, changes: Int?) {
        self.counts = counts
        self.changes = changes
    }
}

/// The scheduled messages of a hub that have not been released yet.
package struct ScheduledLoad: Sendable, Equatable {
    package static let none = ScheduledLoad(messages: 0, bytes: 0)

    package var messages: Int
    package var bytes: Int
    /// The due time of the first message; `nil` if none is waiting.
    package var nextDue: Timestamp?

    package init(messages: Int, bytes: Int, nextDue: Timestamp? = nil) {
        self.messages = messages
        self.bytes = bytes
        self.nextDue = nextDue
    }

    mutating func add(_ bytes: Int, dueAt: Timestamp) {
        messages = messages.saturatingAdd(1)
        self.bytes = self.bytes.saturatingAdd(bytes)
        nextDue = min(nextDue ?? dueAt, dueAt)
    }

    mutating func remove(messages: Int, bytes: Int, nextDue: Timestamp?) {
        self.messages = self.messages.saturatingSubtract(messages)
        self.bytes = self.bytes.saturatingSubtract(bytes)
        self.nextDue = nextDue
    }
}
