import HubProtocol
import Signals
import WebEdge

/// The owners of push handles, and the recovery from calls without an answer.
extension UserDevices {
    /// Deletes other users' registrations of a push handle: a handle belongs to the user who registered it last.
    ///
    /// Otherwise a device that its next user registers under a new id would continue to show its former user's
    /// notifications. A user who knows another user's handle can take it in this way, but gets no notifications: the
    /// handle leads to the other user's device, whose app registers it again at its next start.
    ///
    /// Call it in the handle's turn, before the handle is registered for its new user. `others` are the devices of
    /// other users with the handle, at most ``maximumOthers``, as read earlier in this turn.
    ///
    /// - Throws: A ``BackendRefusal``: 503 while a registration for another user may still reach the hub; 502 or 503 if
    ///   the hub fails.
    func takeHandle(from others: [RegisteredDevice], for claim: DeviceClaim, except key: DeviceKey) async throws {
        let others = others.filter { $0.key != key }
        for device in others.prefix(Self.maximumMerged) {
            try await turns.pass(device.key) { try await take(device.key, for: claim) }
        }
        guard others.count <= Self.maximumMerged else {
            throw BackendRefusal.unavailable("Too many devices have this push handle.", retryAfter: .seconds(1))
        }
    }

    /// Deletes another user's device, if it still has this push handle.
    private func take(_ key: DeviceKey, for claim: DeviceClaim) async throws {
        guard var device = try await foreignDevice(key, claim) else { return }
        while device.isLate(at: timestamp) {
            guard try await resolveDoubt(about: device, for: claim) else { break }
            guard let next = try await foreignDevice(key, claim) else { return }
            device = next
        }
        try await erase(key)
        for user in Set(device.holders.map(\.user)) where user != claim.user.key { noteTakeOver(from: user, by: claim) }
    }

    /// A device with the requested push handle that another user has, or may have.
    private func foreignDevice(_ key: DeviceKey, _ claim: DeviceClaim) async throws -> RegisteredDevice? {
        let device = try await store.readDevices { try $0.device(key) }
        guard let device, device.has(claim.handle) else { return nil }
        return device.holders.contains { $0.user != claim.user.key } ? device : nil
    }

    /// Asks the hub which of two states a device has, after a call without an answer.
    ///
    /// Call it in the device's turn. Without this check, a second consecutive call without an answer would make the
    /// store forget the possible effect of the first.
    ///
    /// - Returns: True if the device is now stored with another state.
    /// - Throws: 503 while a late call may still give the device a state other than the requested one.
    func resolveDoubt(about device: RegisteredDevice, for claim: DeviceClaim) async throws -> Bool {
        let at = timestamp
        guard device.isInDoubt(for: claim.holder, at: at) else { return false }
        let found = try await hubDevice(device.key, comparing: claim.channel)
        let late = device.late?.pending(at: at)
        if let wanted = device.wanted, wanted != device.holder, found?.matches(wanted) == true {
            // The only late call has taken effect.
            let rest = late?.count == 1 ? nil : late
            try await settle(device, as: wanted, late: rest)
            return true
        }
        if let late {
            throw BackendRefusal.unavailable(
                "An earlier change of this device may still take effect.",
                retryAfter: late.until - at
            )
        }
        if found == nil, device.holder.handle == nil {
            try await store.changeDevices { try $0.remove(device.key) }
        } else {
            try await settle(device, as: found?.completed(by: device.holder) ?? device.holder, late: nil)
        }
        return true
    }

    private func settle(_ device: RegisteredDevice, as holder: RegisteredDevice.Holder, late: LateCalls?) async throws {
        let changedAt = device.changedAt
        try await store.changeDevices { try $0.settle(holder, of: device.key, at: changedAt, late: late) }
    }

    /// A device as the hub has it; `nil` if the hub has no device with this id.
    ///
    /// Hubs return no secret; of a stream's channel they report whether it is `channel`.
    func hubDevice(
        _ key: DeviceKey,
        comparing channel: PushChannel? = nil
    ) async throws(BackendRefusal) -> HubDevice? {
        try await hubAnswer { hub throws(HubError) -> HubDevice? in
            switch key.kind {
            case .registration:
                do throws(HubError) {
                    let found = try await hub.registration(try RegistrationID(stored: key.id))
                    return HubDevice(platform: found.platform, tags: found.tags, channel: found.pushChannel)
                } catch .refused(404, _, _, _) {
                    return nil
                }
            case .installation:
                let id = try InstallationID(stored: key.id)
                guard let found = try await hub.installation(id, comparing: channel) else { return nil }
                let (installation, isSame) = (found.installation, found.hasSameChannel)
                let known = isSame ? channel : installation.pushChannel
                return HubDevice(platform: installation.platform, tags: installation.tags, channel: known)
            }
        }
    }
}

/// A device, as a hub reports it.
struct HubDevice: Sendable {
    let platform: Platform
    let tags: [Tag]
    /// `nil` if the hub does not return it.
    let channel: PushChannel?

    /// The user's key; `nil` without a user's tag.
    private var user: String? { DeviceTags.user(in: tags) }
    private var handle: HandleDigest? { channel.map { HandleDigest($0) } }

    func matches(_ holder: RegisteredDevice.Holder) -> Bool {
        user == holder.user && (handle == nil || handle == holder.handle)
    }

    func completed(by holder: RegisteredDevice.Holder) -> RegisteredDevice.Holder {
        RegisteredDevice.Holder(user: user ?? holder.user, handle: handle ?? holder.handle)
    }
}
