package import HubProtocol

/// What a committed change did to a hub, beyond the store.
///
/// Effects are handed to ``HubMachine`` in the order of the log.
package enum HubEffect: Sendable {
    /// A message has its place in the log.
    case message(RoutedMessage, matched: Matched)
    /// So has a scheduled message that cannot be read any more; streams get a gap in its place.
    case unreadable(LogSequence)
    /// Targets of push services were stored with a message.
    case delivery
    case installation(InstallationEffect)
    /// Targets were put or removed without an installation.
    case targets([TargetChange])
    /// The hub's own rules, how long registrations live, or whether it is disabled.
    case policy(HubPolicy)
    /// A message waits for its time.
    case scheduled(bytes: Int, dueAt: Timestamp)
    /// Messages wait no longer; `nextDue` is that of the next one that does.
    case unscheduled(messages: Int, bytes: Int, nextDue: Timestamp?)
    /// The counts of messages in the store were corrected.
    case recounted([LogSequence])
}

/// What a committed change did to the namespace, or to one of its hubs.
package enum NamespaceEffect: Sendable {
    case hub(HubKey, HubEffect)
    case created(HubRecord, HubPolicy, LogExtent)
    case deleted(HubKey)
    /// All rows of the log up to a sequence were dropped.
    case dropped(through: LogSequence)
}

/// An installation was put or removed.
package struct InstallationEffect: Sendable {
    package let ordinal: Ordinal
    /// `nil` if it is gone, or not of platform `stream`.
    package let entry: Registry.Entry?
    /// The change's; `nil` if what the installation is sent stays as it was.
    package let sequence: LogSequence?
    /// What became of its registrations, and of those that it replaces; both lists are empty if nothing changed.
    package let targets: [TargetChange]
    package var replaced: [TargetChange]
    /// Its stream was opened with a secret that is no longer valid, or it is gone.
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
    /// The hub's own.
    package var rules: [AccessRule]
    /// How long a registration lives after its last write; `nil` for ever.
    package var registrationLifetime: Duration?
    /// The hub refuses registrations and messages.
    package var isDisabled: Bool
    /// How the hub proves itself to push services.
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

/// How far the log reaches.
package struct LogExtent: Sendable, Equatable {
    /// The highest sequence ever given, 0 in a new log.
    package let top: LogSequence
    /// All rows up to this sequence were dropped.
    package let droppedThrough: LogSequence

    package init(top: LogSequence, droppedThrough: LogSequence) {
        self.top = top
        self.droppedThrough = droppedThrough
    }
}

/// How many recipients a message has, at a state of the registry.
package struct Matched: Sendable {
    package static let nobody = Matched(counts: RecipientCounts(total: 0, platforms: [:]), changes: nil)

    package let counts: RecipientCounts
    /// ``Registry/changes`` at that state; `nil` for counts that do not depend on it, of named targets.
    package let changes: Int?

    package init(counts: RecipientCounts, changes: Int?) {
        self.counts = counts
        self.changes = changes
    }
}

/// Messages of a hub that wait for their time.
package struct ScheduledLoad: Sendable, Equatable {
    package static let none = ScheduledLoad(messages: 0, bytes: 0)

    package var messages: Int
    package var bytes: Int
    /// Of the first one; `nil` without any.
    package var nextDue: Timestamp?

    package init(messages: Int, bytes: Int, nextDue: Timestamp? = nil) {
        self.messages = messages
        self.bytes = bytes
        self.nextDue = nextDue
    }

    mutating func add(_ bytes: Int, dueAt: Timestamp) {
        messages += 1
        self.bytes += bytes
        nextDue = min(nextDue ?? dueAt, dueAt)
    }
}
