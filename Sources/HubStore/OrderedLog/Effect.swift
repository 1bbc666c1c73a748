package import HubProtocol
package import HubRouting

/// The effect of a committed change on the state in memory.
///
/// The entry of a change contains its effects by kind and keys. Another node reads the rest from its database, on which
/// the entry's statements were repeated. A new effect needs a type that conforms to this protocol or to ``HubEffect``,
/// and a place in ``LoggedEffect/types``.
package protocol Effect: Sendable {
    /// The part of the effect that entries contain.
    associatedtype Keys: EntryValue = Self

    /// The number of the kind; it is never changed or used again.
    static var kind: UInt8 { get }
    /// True if entries name the hub of the effect.
    static var isOfHub: Bool { get }
    /// The part of the effect that entries contain; ``complete(_:of:_:)`` makes the effect of it again.
    var keys: Keys { get }

    /// The registrations whose states before and after the entry are part of the effect.
    static func targets(_ keys: Keys) -> [Ordinal]

    /// Completes an effect from the rows that the entry's statements have written.
    ///
    /// - Returns: `nil` if a later change of the same entry removed the subject of the effect.
    /// - Throws: A `DatabaseError`, or an error of a row that cannot be read.
    static func complete(_ keys: Keys, of hub: HubKey, _ reader: inout EffectReader) throws -> (any Effect)?

    /// Changes the state in memory; `hub` is 0 for an effect on the namespace.
    func apply(to machine: inout NamespaceMachine, of hub: HubKey)
}

/// The effect of a committed change on a hub's state in memory.
///
/// A machine receives effects in log order.
package protocol HubEffect: Effect {
    func apply(to machine: inout HubMachine)
}

extension Effect {
    package static var isOfHub: Bool { true }
    package static func targets(_ keys: Keys) -> [Ordinal] { [] }
}

extension Effect where Keys == Self {
    package var keys: Self { self }

    package static func complete(_ keys: Self, of hub: HubKey, _ reader: inout EffectReader) -> (any Effect)? { keys }
}

/// An effect with nothing but its keys.
package protocol PlainEffect: Effect {
    init(_ keys: Keys)
}

extension PlainEffect {
    package static func complete(_ keys: Keys, of hub: HubKey, _ reader: inout EffectReader) -> (any Effect)? {
        Self(keys)
    }
}

extension HubEffect {
    package func apply(to machine: inout NamespaceMachine, of hub: HubKey) {
        machine.change(hub) { apply(to: &$0) }
    }
}

/// An effect and its place.
package struct NamespaceEffect: Sendable {
    /// 0, which is not the number of a hub, for an effect on the namespace.
    package let hub: HubKey
    package let effect: any Effect

    init(of hub: HubKey, _ effect: any Effect) {
        self.hub = hub
        self.effect = effect
    }

    package init(_ hub: HubKey, _ effect: any HubEffect) { self.init(of: hub, effect) }

    package static func created(_ hub: StoredHub, _ extent: LogExtent) -> Self {
        Self(of: hub.record.id, CreatedEffect(hub, extent))
    }

    package static func deleted(_ hub: HubKey) -> Self { Self(of: hub, DeletedEffect()) }

    /// All rows of the log up to a sequence were dropped.
    package static func dropped(through sequence: LogSequence) -> Self { Self(of: 0, DroppedEffect(sequence)) }

    package func apply(to machine: inout NamespaceMachine) { effect.apply(to: &machine, of: hub) }
}
