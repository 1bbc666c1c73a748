import Foundation
import GRDB
import HubProtocol
import HubRouting

/// Completes the effects of an entry from the database before and after the entry's statements.
///
/// If an entry changes an installation or a registration several times, its effect is the state after the last change.
struct EffectReader {
    private let logged: [LoggedEffect]
    /// The targets that the next effect replaces.
    private var targets: [Ordinal: Target]

    /// Reads the targets that the entry's statements will replace.
    init(before logged: [LoggedEffect], _ transaction: Transaction) throws {
        self.logged = logged
        targets = try transaction.targets(logged.flatMap(\.targets))
    }

    /// Completes the effects from the rows that the entry's statements have written.
    mutating func effects(after transaction: Transaction) throws -> [NamespaceEffect] {
        let written = try transaction.targets(logged.flatMap(\.targets))
        var effects: [NamespaceEffect] = []
        for logged in logged {
            if let effect = try effect(logged, written, transaction) { effects.append(effect) }
        }
        return effects
    }

    /// - Returns: `nil` if a later change of the same entry removed the subject of the effect.
    private mutating func effect(
        _ logged: LoggedEffect,
        _ written: [Ordinal: Target],
        _ transaction: Transaction
    ) throws -> NamespaceEffect? {
        switch logged {
        case .message(let hub, let sequence): return try transaction.message(sequence).map { .hub(hub, $0) }
        case .unreadable(let hub, let sequence): return .hub(hub, .unreadable(sequence))
        case .delivery(let hub): return .hub(hub, .delivery)
        case .installation(let hub, let change):
            let stored = try transaction.installation(ordinal: change.ordinal)
            return .hub(
                hub,
                .installation(
                    InstallationEffect(
                        ordinal: change.ordinal,
                        entry: try stored.flatMap { $0.isReadable ? try Registry.Entry($0) : nil },
                        sequence: change.sequence,
                        targets: changes(change.targets, written),
                        replaced: changes(change.replaced, written),
                        endsStream: change.endsStream
                    )
                )
            )
        case .targets(let hub, let ordinals): return .hub(hub, .targets(changes(ordinals, written)))
        case .policy(let hub): return try transaction.hub(id: hub).map { .hub(hub, .policy($0.policy)) }
        case .scheduled(let hub, let bytes, let dueAt):
            return .hub(hub, .scheduled(bytes: Int(bytes), dueAt: dueAt))
        case .unscheduled(let hub, let messages, let bytes, let nextDue):
            return .hub(hub, .unscheduled(messages: Int(messages), bytes: Int(bytes), nextDue: nextDue))
        case .recounted(let hub, let sequences): return .hub(hub, .recounted(sequences))
        case .categories(let hub): return .hub(hub, .categories)
        case .report(let hub): return .hub(hub, .report)
        case .created(let hub):
            return try transaction.hub(id: hub).map { .created($0.record, $0.policy, try transaction.extent()) }
        case .deleted(let hub): return .deleted(hub)
        case .dropped(let sequence): return .dropped(through: sequence)
        }
    }

    private mutating func changes(_ ordinals: [Ordinal], _ written: [Ordinal: Target]) -> [TargetChange] {
        ordinals.compactMap { ordinal in
            let (old, new) = (targets[ordinal], written[ordinal])
            targets[ordinal] = new
            return old == nil && new == nil ? nil : TargetChange(old: old, new: new)
        }
    }
}

extension LoggedEffect {
    fileprivate var targets: [Ordinal] {
        switch self {
        case .installation(_, let change): change.targets + change.replaced
        case .targets(_, let ordinals): ordinals
        case .message, .unreadable, .delivery, .policy, .scheduled, .unscheduled, .recounted, .categories, .report,
            .created, .deleted, .dropped:
            []
        }
    }
}

extension Transaction {
    fileprivate func targets(_ ordinals: [Ordinal]) throws -> [Ordinal: Target] {
        guard !ordinals.isEmpty else { return [:] }
        let statement = try db.cachedStatement(sql: RegistrationQuery.targets)
        let rows = try Row.fetchCursor(statement, arguments: [ordinals.json])
        var targets: [Ordinal: Target] = [:]
        while let row = try rows.next() {
            let target = Target(row: row)
            targets[target.ordinal] = target
        }
        return targets
    }

    fileprivate func message(_ sequence: LogSequence) throws -> HubEffect? {
        let statement = try db.cachedStatement(sql: Query.message)
        guard let row = try Row.fetchOne(statement, arguments: [sequence]) else { return nil }
        guard let routed = try? LoggedMessage(row: row).routed else { return .unreadable(sequence) }
        // The node that accepted the message corrects its counts.
        return .message(routed, matched: .nobody)
    }

    fileprivate func installation(ordinal: Ordinal) throws -> StoredInstallation? {
        let statement = try db.cachedStatement(sql: Query.installationOfOrdinal)
        return try Row.fetchOne(statement, arguments: [ordinal]).map { try StoredInstallation(row: $0) }
    }
}
