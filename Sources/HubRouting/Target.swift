package import HubProtocol

/// The properties of a registration that routing needs.
package struct Target: Sendable, Equatable {
    package var ordinal: Ordinal
    package let platform: Platform
    /// False for a native registration.
    package let isTemplate: Bool
    /// The tags joined by commas, as registrations carry them.
    package let tags: String
    /// The ordinal of the installation that it is part of; `nil` for one that was registered on its own.
    package let installation: Ordinal?
    /// True for the native registration of an installation's own channel, of which each installation has one.
    package let isMain: Bool
    /// Bytes charged to a record last written with Listen; 0 for records written with Manage, and for all parts of an
    /// installation except its native one.
    package let charge: Int
    /// The holder of Listen who wrote the charged record; `nil` if the record is not charged.
    package let writer: ListenWriter?

    package init(
        ordinal: Ordinal,
        platform: Platform,
        isTemplate: Bool,
        tags: String,
        installation: Ordinal?,
        isMain: Bool,
        charge: Int = 0,
        writer: ListenWriter? = nil
    ) {
        self.ordinal = ordinal
        self.platform = platform
        self.isTemplate = isTemplate
        self.tags = tags
        self.installation = installation
        self.isMain = isMain
        self.charge = charge
        self.writer = charge > 0 ? writer ?? .unknown : nil
    }
}

/// The change of a target by a write.
package struct TargetChange: Sendable, Equatable {
    /// The target before the change; `nil` for a new one.
    package let old: Target?
    /// The target after the change; `nil` if it is gone.
    package let new: Target?

    package init(old: Target?, new: Target?) {
        self.old = old
        self.new = new
    }
}

/// The usage by installations and registrations that were last written with Listen.
package struct ListenUsage: Sendable, Equatable {
    /// Number of installations, and of registrations that were registered on their own.
    package private(set) var count = 0
    /// The sum of ``Target/charge``.
    package private(set) var bytes = 0

    package init() {}

    package mutating func add(_ charge: Int) {
        guard charge > 0 else { return }
        count += 1
        bytes += charge
    }

    package mutating func remove(_ charge: Int) {
        guard charge > 0 else { return }
        count -= 1
        bytes -= charge
    }
}
