package import Foundation
package import HubProtocol

/// How an app backend runs; every value is decided before the start.
package struct BackendConfiguration: Sendable {
    /// Beginnings of tags that users must not choose; those that the hub in front reserves.
    package var reservedTags = ReservedTagPrefixes.standard
    /// Tags that the hub lets a device have, the user's own included.
    package var maximumTags = Installation.maximumTags
    /// Notes an event for the audit log: one sentence without payloads, handles and unknown names.
    package var note: @Sendable (String) async -> Void = { _ in }
    /// The wall clock.
    package var now: @Sendable () -> Date = { Date() }

    package init() {}
}
