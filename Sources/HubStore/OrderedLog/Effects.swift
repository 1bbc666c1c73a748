import Foundation
import GRDB
package import HubProtocol
package import HubRouting
import SQLiteFiles

/// A message was appended to the log.
package struct MessageEffect: HubEffect {
    package static let kind: UInt8 = 1
    package let message: RoutedMessage
    package let matched: Matched

    package init(_ message: RoutedMessage, matched: Matched) {
        self.message = message
        self.matched = matched
    }

    package var keys: LogSequence { message.sequence }

    package static func complete(
        _ sequence: LogSequence,
        of hub: HubKey,
        _ reader: inout EffectReader
    ) throws -> (any Effect)? {
        try reader.db.row(Query.message, [sequence]) { row in
            guard let routed = try? LoggedMessage(row: row).routed else { return UnreadableEffect(sequence) }
            // The node that accepted the message corrects its counts.
            return MessageEffect(routed, matched: .nobody)
        }
    }

    package func apply(to machine: inout HubMachine) { machine.receive(message, matched) }
}

/// A scheduled message that can no longer be read was appended to the log; streams get a gap instead.
package struct UnreadableEffect: HubEffect, PlainEffect {
    package static let kind: UInt8 = 2
    package let keys: LogSequence

    package init(_ sequence: LogSequence) { keys = sequence }

    package func apply(to machine: inout HubMachine) { machine.noteMessage(keys) }
}

/// Targets on push services were stored with a message.
package struct DeliveryEffect: HubEffect, EmptyValue {
    package static let kind: UInt8 = 3

    package init() {}

    package func apply(to machine: inout HubMachine) { machine.noteDelivery() }
}

/// An installation was put or removed.
extension InstallationEffect: HubEffect {
    package static var kind: UInt8 { 4 }

    package struct Keys: EntryValue {
        let ordinal: Ordinal
        let sequence: LogSequence?
        let targets: [Ordinal]
        let replaced: [Ordinal]
        let endsStream: Bool
    }

    package var keys: Keys {
        Keys(
            ordinal: ordinal,
            sequence: sequence,
            targets: targets.ordinals,
            replaced: replaced.ordinals,
            endsStream: endsStream
        )
    }

    package static func targets(_ keys: Keys) -> [Ordinal] { keys.targets + keys.replaced }

    package static func complete(
        _ keys: Keys,
        of hub: HubKey,
        _ reader: inout EffectReader
    ) throws -> (any Effect)? {
        let stored = try reader.db.row(Query.installationOfOrdinal, [keys.ordinal], StoredInstallation.init(row:))
        return InstallationEffect(
            ordinal: keys.ordinal,
            entry: try stored.flatMap { $0.isReadable ? try Registry.Entry($0) : nil },
            sequence: keys.sequence,
            targets: reader.changes(of: keys.targets),
            replaced: reader.changes(of: keys.replaced),
            endsStream: keys.endsStream
        )
    }

    package func apply(to machine: inout HubMachine) { machine.apply(self) }
}

extension InstallationEffect.Keys {
    package func append(to writer: inout EntryWriter) {
        writer.append(value: ordinal)
        writer.append(value: sequence)
        writer.append(value: targets)
        writer.append(value: replaced)
        writer.append(value: endsStream)
    }

    package init(reading reader: inout EntryReader) throws(LogEntryError) {
        ordinal = try reader.value()
        sequence = try reader.value()
        targets = try reader.value()
        replaced = try reader.value()
        endsStream = try reader.value()
    }
}

extension [TargetChange] {
    fileprivate var ordinals: [Ordinal] { compactMap { ($0.new ?? $0.old)?.ordinal } }
}

/// Registrations that belong to no installation were put or removed.
package struct TargetsEffect: HubEffect {
    package static let kind: UInt8 = 5
    package let changes: [TargetChange]

    package init(_ changes: [TargetChange]) { self.changes = changes }

    package var keys: [Ordinal] { changes.ordinals }

    package static func targets(_ keys: [Ordinal]) -> [Ordinal] { keys }

    package static func complete(_ keys: [Ordinal], of hub: HubKey, _ reader: inout EffectReader) -> (any Effect)? {
        TargetsEffect(reader.changes(of: keys))
    }

    package func apply(to machine: inout HubMachine) { machine.apply(changes) }
}

/// The hub's own rules, the lifetime of its registrations, or its disabled state have changed.
package struct PolicyEffect: HubEffect {
    package static let kind: UInt8 = 6
    package let policy: HubPolicy

    package init(_ policy: HubPolicy) { self.policy = policy }

    package var keys: NoKeys { NoKeys() }

    package static func complete(
        _ keys: NoKeys,
        of hub: HubKey,
        _ reader: inout EffectReader
    ) throws -> (any Effect)? {
        try reader.transaction.hub(id: hub).map { PolicyEffect($0.policy) }
    }

    package func apply(to machine: inout HubMachine) { machine.setPolicy(policy) }
}

/// A message was scheduled.
package struct ScheduledEffect: HubEffect, EntryValue {
    package static let kind: UInt8 = 7
    package let bytes: Int
    package let dueAt: Timestamp

    package init(bytes: Int, dueAt: Timestamp) {
        self.bytes = bytes
        self.dueAt = dueAt
    }

    package func append(to writer: inout EntryWriter) {
        writer.append(value: bytes)
        writer.append(value: dueAt)
    }

    package init(reading reader: inout EntryReader) throws(LogEntryError) {
        bytes = try reader.value()
        dueAt = try reader.value()
    }

    package func apply(to machine: inout HubMachine) { machine.schedule(bytes: bytes, dueAt: dueAt) }
}

/// Messages are no longer waiting; `nextDue` is the due time of the first one still waiting.
package struct UnscheduledEffect: HubEffect, EntryValue {
    package static let kind: UInt8 = 8
    package let messages: Int
    package let bytes: Int
    package let nextDue: Timestamp?

    package init(messages: Int, bytes: Int, nextDue: Timestamp?) {
        self.messages = messages
        self.bytes = bytes
        self.nextDue = nextDue
    }

    package func append(to writer: inout EntryWriter) {
        writer.append(value: messages)
        writer.append(value: bytes)
        writer.append(value: nextDue)
    }

    package init(reading reader: inout EntryReader) throws(LogEntryError) {
        messages = try reader.value()
        bytes = try reader.value()
        nextDue = try reader.value()
    }

    package func apply(to machine: inout HubMachine) {
        machine.unschedule(messages: messages, bytes: bytes, nextDue: nextDue)
    }
}

/// The stored recipient counts of messages were corrected.
package struct RecountedEffect: HubEffect, PlainEffect {
    package static let kind: UInt8 = 9
    package let keys: [LogSequence]

    package init(_ sequences: [LogSequence]) { keys = sequences }

    package func apply(to machine: inout HubMachine) { machine.noteRecounted(keys) }
}

/// A publisher announces other categories.
package struct CategoriesEffect: HubEffect, EmptyValue {
    package static let kind: UInt8 = 13

    package init() {}

    package func apply(to machine: inout HubMachine) { machine.noteCategories() }
}

/// A publisher has reported.
package struct ReportEffect: HubEffect, EmptyValue {
    package static let kind: UInt8 = 14

    package init() {}

    package func apply(to machine: inout HubMachine) { machine.noteReport() }
}

// MARK: - The namespace

/// A hub was created.
struct CreatedEffect: Effect {
    static let kind: UInt8 = 10
    let record: HubRecord
    let policy: HubPolicy
    let extent: LogExtent

    init(_ hub: StoredHub, _ extent: LogExtent) {
        (record, policy) = (hub.record, hub.policy)
        self.extent = extent
    }

    var keys: NoKeys { NoKeys() }

    static func complete(_ keys: NoKeys, of hub: HubKey, _ reader: inout EffectReader) throws -> (any Effect)? {
        try reader.transaction.hub(id: hub).map { CreatedEffect($0, try reader.transaction.extent()) }
    }

    func apply(to machine: inout NamespaceMachine, of hub: HubKey) { machine.create(record, policy, extent) }
}

/// A hub was deleted.
struct DeletedEffect: Effect, EmptyValue {
    static let kind: UInt8 = 11

    func apply(to machine: inout NamespaceMachine, of hub: HubKey) { machine.delete(hub) }
}

/// All rows of the log up to a sequence were dropped.
struct DroppedEffect: PlainEffect {
    static let kind: UInt8 = 12
    static let isOfHub = false
    let keys: LogSequence

    init(_ sequence: LogSequence) { keys = sequence }

    func apply(to machine: inout NamespaceMachine, of hub: HubKey) { machine.drop(through: keys) }
}
