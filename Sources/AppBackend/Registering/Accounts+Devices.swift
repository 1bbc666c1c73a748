package import HubProtocol
import Logging

/// A device of a user, for lists.
package struct DeviceRecord: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case registration, installation
    }

    package let kind: Kind
    /// The hub's id.
    package let id: String
    /// The day on which the user last registered it.
    package let changedAt: Timestamp
    /// False while the outcome of the last call to the hub is unknown; the hub may have the device for another user.
    package let isConfirmed: Bool

    init(_ device: RegisteredDevice) {
        kind = device.key.kind == .registration ? .registration : .installation
        id = device.key.id
        changedAt = device.changedAt
        isConfirmed = device.wanted == nil
    }
}

extension Accounts {
    /// The devices that the hub has for a user, least recently changed first; also for a removed user.
    package func devices(of name: UserName) async throws -> [DeviceRecord] {
        try await store.readDevices { try $0.devices(of: name.key) }
            .filter(\.isRegistered)
            .map(DeviceRecord.init)
    }

    /// Deletes all devices of a user at the hub and in the store.
    ///
    /// - Throws: ``BackendRefusal`` for a failure of the hub; devices handled before the failure are deleted.
    package func removeDevices(of name: UserName, from hub: any NotificationHub) async throws {
        let configuration = BackendConfiguration()
        let audit = AuditLog(store: store, clock: configuration.clock, logger: Logger(label: "newswire.user"))
        try await UserDevices(store: store, hub: hub, audit: audit, configuration).removeAll(of: name)
    }
}
