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
    func takeHandle(
        _ channel: PushChannel,
        from others: [RegisteredDevice],
        for wantedHolder: RegisteredDevice.Holder,
        except key: DeviceKey,
        _ network: ClientNetwork
    ) async throws {
        let others = others.filter { $0.key != key }
        for device in others.prefix(Self.maximumMerged) {
            try await turns.pass(device.key) { try await take(device.key, channel, wantedHolder, network) }
        }
        guard others.count <= Self.maximumMerged else {
            throw BackendRefusal.unavailable("Too many devices have this push handle.", retryAfter: .seconds(1))
        }
    }

    /// Deletes another user's device, if it still has this push handle.
    private func take(
        _ key: DeviceKey,
        _ channel: PushChannel,
        _ wantedHolder: RegisteredDevice.Holder,
        _ network: ClientNetwork
    ) async throws {
        guard var device = try await foreignDevice(key, wantedHolder) else { return }
        while device.isLate(at: timestamp) {
            guard try await resolveDoubt(about: device, for: wantedHolder, channel) else { break }
            guard let next = try await foreignDevice(key, wantedHolder) else { return }
            device = next
        }
        try await erase(key)
        for user in Set(device.holders.map(\.user)) where user != wantedHolder.user {
            noteTakeOver(from: user, to: wantedHolder.user, network)
        }
    }

    /// A device with the requested push handle that another user has, or may have.
    private func foreignDevice(_ key: DeviceKey, _ wantedHolder: RegisteredDevice.Holder) async throws
        -> RegisteredDevice?
    {
        let device = try await store.readDevices { try $0.device(key) }
        guard let device, wantedHolder.handle.map(device.has) == true else { return nil }
        return device.holders.contains { $0.user != wantedHolder.user } ? device : nil
    }

    /// Asks the hub which of two states a device has, after a call without an answer.
    ///
    /// Call it in the device's turn. Without this check, a second consecutive call without an answer would make the
    /// store forget the possible effect of the first.
    ///
    /// - Returns: True if the device is now stored with another state.
    /// - Throws: 503 while a late call may still give the device a state other than the requested one.
    func resolveDoubt(
        about device: RegisteredDevice,
        for wantedHolder: RegisteredDevice.Holder,
        _ channel: PushChannel
    ) async throws -> Bool {
        let at = timestamp
        guard device.isInDoubt(for: wantedHolder, at: at) else { return false }
        let found = try await state(of: device.key, comparing: channel)
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

    /// The state of a device at the hub; `nil` if the hub has no device with this id.
    private func state(of key: DeviceKey, comparing channel: PushChannel) async throws(BackendRefusal) -> HubState? {
        try await hubAnswer { hub throws(HubError) -> HubState? in
            switch key.kind {
            case .registration:
                do throws(HubError) {
                    let found = try await hub.registration(try RegistrationID(stored: key.id))
                    return HubState(user: DeviceTags.user(in: found.tags), handle: HandleDigest(found.pushChannel))
                } catch .refused(404, _, _, _) {
                    return nil
                }
            case .installation:
                let id = try InstallationID(stored: key.id)
                guard let found = try await hub.installation(id, comparing: channel) else { return nil }
                // A stream's channel is a secret, which hubs do not return.
                let known = found.hasSameChannel ? channel : found.installation.pushChannel
                return HubState(
                    user: DeviceTags.user(in: found.installation.tags),
                    handle: known.map { HandleDigest($0) }
                )
            }
        }
    }
}

/// The user and handle of a device, as a hub reports them.
private struct HubState {
    /// The user's key; `nil` without a user's tag.
    let user: String?
    /// The digest of the handle; `nil` if the hub does not return the handle.
    let handle: HandleDigest?

    func matches(_ holder: RegisteredDevice.Holder) -> Bool {
        user == holder.user && (handle == nil || handle == holder.handle)
    }

    func completed(by holder: RegisteredDevice.Holder) -> RegisteredDevice.Holder {
        RegisteredDevice.Holder(user: user ?? holder.user, handle: handle ?? holder.handle)
    }
}
