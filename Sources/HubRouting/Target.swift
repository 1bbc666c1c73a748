package import HubProtocol

/// What routing needs of a registration.
package struct Target: Sendable, Equatable {
    package let ordinal: Ordinal
    package let platform: Platform
    /// Or native.
    package let isTemplate: Bool
    /// As registrations travel: joined by commas.
    package let tags: String
    /// The ordinal of the installation that it is part of; `nil` for one that was registered on its own.
    package let installation: Ordinal?
    /// The native registration of an installation's own channel: each installation has one.
    package let isMain: Bool
    /// Bytes charged to what Listen has written; 0 for what Manage has written, and for parts of an installation but
    /// its native one.
    package let charge: Int

    package init(
        ordinal: Ordinal,
        platform: Platform,
        isTemplate: Bool,
        tags: String,
        installation: Ordinal?,
        isMain: Bool,
        charge: Int = 0
    ) {
        self.ordinal = ordinal
        self.platform = platform
        self.isTemplate = isTemplate
        self.tags = tags
        self.installation = installation
        self.isMain = isMain
        self.charge = charge
    }
}

/// What a write has done to a target.
package struct TargetChange: Sendable, Equatable {
    /// The target before; `nil` for a new one.
    package let old: Target?
    /// `nil` for one that is gone.
    package let new: Target?

    package init(old: Target?, new: Target?) {
        self.old = old
        self.new = new
    }
}

/// What a hub holds of installations and registrations that were last written with Listen.
package struct ListenUsage: Sendable, Equatable {
    /// Installations, and registrations that were registered on their own.
    package private(set) var count = 0
    /// As ``Target/charge``.
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
