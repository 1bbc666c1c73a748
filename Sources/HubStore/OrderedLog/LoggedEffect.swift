import HubProtocol
import HubRouting

/// An effect as entries contain it: its kind, its hub and its keys.
package struct LoggedEffect: Sendable, Equatable {
    /// The types of all effects.
    static let types: [UInt8: any Effect.Type] = {
        let types: [any Effect.Type] = [
            MessageEffect.self, UnreadableEffect.self, DeliveryEffect.self, InstallationEffect.self,
            TargetsEffect.self, PolicyEffect.self, ScheduledEffect.self, UnscheduledEffect.self, RecountedEffect.self,
            CreatedEffect.self, DeletedEffect.self, DroppedEffect.self, CategoriesEffect.self, ReportEffect.self,
        ]
        return Dictionary(uniqueKeysWithValues: types.map { ($0.kind, $0) })
    }()

    /// The encoded form.
    let bytes: [UInt8]
    /// The registrations whose states before and after the entry are part of the effect.
    let targets: [Ordinal]
    let complete: @Sendable (inout EffectReader) throws -> NamespaceEffect?

    package init(_ effect: NamespaceEffect) { self.init(effect.hub, effect.effect) }

    private init<Kind: Effect>(_ hub: HubKey, _ effect: Kind) {
        // No node could read the entry.
        precondition(Self.types[Kind.kind] == Kind.self, "\(Kind.self) is missing in the types of effects")
        self.init(Kind.self, hub, effect.keys)
    }

    init(reading reader: inout EntryReader) throws(LogEntryError) {
        guard let type = Self.types[try reader.byte()] else { throw .damaged("an effect has an unknown kind") }
        self = try Self.read(type, &reader)
    }

    private static func read<Kind: Effect>(
        _ type: Kind.Type,
        _ reader: inout EntryReader
    ) throws(LogEntryError) -> LoggedEffect {
        LoggedEffect(type, type.isOfHub ? try reader.value() : 0, try reader.value())
    }

    init<Kind: Effect>(_ type: Kind.Type, _ hub: HubKey, _ keys: Kind.Keys) {
        var writer = EntryWriter()
        writer.append(type.kind)
        if type.isOfHub { writer.append(value: hub) }
        writer.append(value: keys)
        bytes = writer.bytes
        targets = type.targets(keys)
        complete = { reader in
            try type.complete(keys, of: hub, &reader).map { NamespaceEffect(of: hub, $0) }
        }
    }

    package static func == (one: LoggedEffect, other: LoggedEffect) -> Bool { one.bytes == other.bytes }
}
