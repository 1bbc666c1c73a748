package import HubProtocol
package import HubRouting

/// An effect as it is encoded in an entry: its kind and its keys.
///
/// The rest is read from the database on which the entry's statements were replayed.
package enum LoggedEffect: Sendable, Equatable {
    case message(HubKey, LogSequence)
    case unreadable(HubKey, LogSequence)
    case delivery(HubKey)
    case installation(HubKey, LoggedInstallation)
    case targets(HubKey, [Ordinal])
    case policy(HubKey)
    case scheduled(HubKey, bytes: Int64, dueAt: Timestamp)
    case unscheduled(HubKey, messages: Int64, bytes: Int64, nextDue: Timestamp?)
    case recounted(HubKey, [LogSequence])
    case categories(HubKey)
    case report(HubKey)
    case created(HubKey)
    case deleted(HubKey)
    case dropped(through: LogSequence)

    package init(_ effect: NamespaceEffect) {
        switch effect {
        case .hub(let hub, let effect): self.init(effect, of: hub)
        case .created(let record, _, _): self = .created(record.id)
        case .deleted(let hub): self = .deleted(hub)
        case .dropped(let sequence): self = .dropped(through: sequence)
        }
    }

    private init(_ effect: HubEffect, of hub: HubKey) {
        switch effect {
        case .message(let message, _): self = .message(hub, message.sequence)
        case .unreadable(let sequence): self = .unreadable(hub, sequence)
        case .delivery: self = .delivery(hub)
        case .installation(let change): self = .installation(hub, LoggedInstallation(change))
        case .targets(let changes): self = .targets(hub, changes.ordinals)
        case .policy: self = .policy(hub)
        case .scheduled(let bytes, let dueAt): self = .scheduled(hub, bytes: Int64(bytes), dueAt: dueAt)
        case .unscheduled(let messages, let bytes, let nextDue):
            self = .unscheduled(hub, messages: Int64(messages), bytes: Int64(bytes), nextDue: nextDue)
        case .recounted(let sequences): self = .recounted(hub, sequences)
        case .categories: self = .categories(hub)
        case .report: self = .report(hub)
        }
    }
}

/// An installation that was put or removed, as it is encoded in an entry.
package struct LoggedInstallation: Sendable, Equatable {
    let ordinal: Ordinal
    /// The sequence of the change; `nil` if the installation gets the same messages as before.
    let sequence: LogSequence?
    /// The installation's registrations that changed.
    let targets: [Ordinal]
    /// Changed registrations that the installation replaces.
    let replaced: [Ordinal]
    let endsStream: Bool

    init(_ change: InstallationEffect) {
        self.init(
            ordinal: change.ordinal,
            sequence: change.sequence,
            targets: change.targets.ordinals,
            replaced: change.replaced.ordinals,
            endsStream: change.endsStream
        )
    }

    fileprivate init(
        ordinal: Ordinal,
        sequence: LogSequence?,
        targets: [Ordinal],
        replaced: [Ordinal],
        endsStream: Bool
    ) {
        self.ordinal = ordinal
        self.sequence = sequence
        self.targets = targets
        self.replaced = replaced
        self.endsStream = endsStream
    }
}

extension [TargetChange] {
    fileprivate var ordinals: [Ordinal] { compactMap { ($0.new ?? $0.old)?.ordinal } }
}

// MARK: - Coding

extension LoggedEffect {
    /// Numbers of the kinds; a number is never reused.
    private enum Kind {
        static let message: UInt8 = 1
        static let unreadable: UInt8 = 2
        static let delivery: UInt8 = 3
        static let installation: UInt8 = 4
        static let targets: UInt8 = 5
        static let policy: UInt8 = 6
        static let scheduled: UInt8 = 7
        static let unscheduled: UInt8 = 8
        static let recounted: UInt8 = 9
        static let created: UInt8 = 10
        static let deleted: UInt8 = 11
        static let dropped: UInt8 = 12
        static let categories: UInt8 = 13
        static let report: UInt8 = 14
    }

    func append(to writer: inout EntryWriter) {
        switch self {
        case .message(let hub, let sequence): writer.append(Kind.message, hub, sequence)
        case .unreadable(let hub, let sequence): writer.append(Kind.unreadable, hub, sequence)
        case .delivery(let hub): writer.append(Kind.delivery, hub)
        case .installation(let hub, let change):
            writer.append(Kind.installation, hub)
            change.append(to: &writer)
        case .targets(let hub, let ordinals):
            writer.append(Kind.targets, hub)
            writer.append(ordinals: ordinals)
        case .policy(let hub): writer.append(Kind.policy, hub)
        case .scheduled(let hub, let bytes, let dueAt):
            writer.append(Kind.scheduled, hub)
            writer.append(signed: bytes)
            writer.append(signed: dueAt.milliseconds)
        case .unscheduled(let hub, let messages, let bytes, let nextDue):
            writer.append(Kind.unscheduled, hub)
            writer.append(signed: messages)
            writer.append(signed: bytes)
            writer.append(optional: nextDue?.milliseconds)
        case .recounted(let hub, let sequences):
            writer.append(Kind.recounted, hub)
            writer.append(list: sequences) { $0.append(signed: $1.rawValue) }
        case .categories(let hub): writer.append(Kind.categories, hub)
        case .report(let hub): writer.append(Kind.report, hub)
        case .created(let hub): writer.append(Kind.created, hub)
        case .deleted(let hub): writer.append(Kind.deleted, hub)
        case .dropped(let sequence):
            writer.append(Kind.dropped)
            writer.append(signed: sequence.rawValue)
        }
    }

    init(_ reader: inout EntryReader) throws(LogEntryError) {
        let kind = try reader.byte()
        guard kind != Kind.dropped else {
            self = .dropped(through: try reader.sequence())
            return
        }
        let hub = HubKey(rawValue: try reader.signed())
        switch kind {
        case Kind.message: self = .message(hub, try reader.sequence())
        case Kind.unreadable: self = .unreadable(hub, try reader.sequence())
        case Kind.delivery: self = .delivery(hub)
        case Kind.installation: self = .installation(hub, try LoggedInstallation(&reader))
        case Kind.targets: self = .targets(hub, try reader.ordinals())
        case Kind.policy: self = .policy(hub)
        case Kind.scheduled:
            let bytes = try reader.signed()
            self = .scheduled(hub, bytes: bytes, dueAt: Timestamp(milliseconds: try reader.signed()))
        case Kind.unscheduled:
            let (messages, bytes) = (try reader.signed(), try reader.signed())
            let nextDue = try reader.optional().map { Timestamp(milliseconds: $0) }
            self = .unscheduled(hub, messages: messages, bytes: bytes, nextDue: nextDue)
        case Kind.recounted:
            self = .recounted(hub, try reader.list { reader throws(LogEntryError) in try reader.sequence() })
        case Kind.categories: self = .categories(hub)
        case Kind.report: self = .report(hub)
        case Kind.created: self = .created(hub)
        case Kind.deleted: self = .deleted(hub)
        default: throw .damaged("an effect has an unknown kind")
        }
    }
}

extension LoggedInstallation {
    fileprivate func append(to writer: inout EntryWriter) {
        writer.append(signed: ordinal.rawValue)
        writer.append(optional: sequence?.rawValue)
        writer.append(ordinals: targets)
        writer.append(ordinals: replaced)
        writer.append(endsStream ? 1 : 0)
    }

    fileprivate init(_ reader: inout EntryReader) throws(LogEntryError) {
        let ordinal = Ordinal(rawValue: try reader.signed())
        let sequence = try reader.optional().map { LogSequence(rawValue: $0) }
        let (targets, replaced) = (try reader.ordinals(), try reader.ordinals())
        self.init(
            ordinal: ordinal,
            sequence: sequence,
            targets: targets,
            replaced: replaced,
            endsStream: try reader.flag()
        )
    }
}

extension EntryWriter {
    fileprivate mutating func append(_ kind: UInt8, _ hub: HubKey) {
        append(kind)
        append(signed: hub.rawValue)
    }

    fileprivate mutating func append(_ kind: UInt8, _ hub: HubKey, _ sequence: LogSequence) {
        append(kind, hub)
        append(signed: sequence.rawValue)
    }

    fileprivate mutating func append(optional number: Int64?) {
        append(number == nil ? 0 : 1)
        if let number { append(signed: number) }
    }

    fileprivate mutating func append(ordinals: [Ordinal]) { append(list: ordinals) { $0.append(signed: $1.rawValue) } }
}

extension EntryReader {
    fileprivate mutating func sequence() throws(LogEntryError) -> LogSequence { LogSequence(rawValue: try signed()) }

    fileprivate mutating func optional() throws(LogEntryError) -> Int64? { try flag() ? try signed() : nil }

    fileprivate mutating func flag() throws(LogEntryError) -> Bool {
        let byte = try byte()
        guard byte <= 1 else { throw .damaged("a flag is neither 0 nor 1") }
        return byte == 1
    }

    fileprivate mutating func ordinals() throws(LogEntryError) -> [Ordinal] {
        try list { reader throws(LogEntryError) in Ordinal(rawValue: try reader.signed()) }
    }
}
