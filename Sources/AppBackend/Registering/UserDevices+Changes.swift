import HubProtocol
import Signals
import WebEdge

/// Changes of devices at the hub, and their record in the store.
extension UserDevices {
    /// Changes a device at the hub; the store records the requested state before the call and the new state after it.
    ///
    /// `isKnown` is false if the store has not recorded yet that `given` refers to this device.
    func change(
        _ key: DeviceKey,
        from former: RegisteredDevice?,
        for claim: DeviceClaim,
        alias given: GivenID? = nil,
        isKnown: Bool = true,
        _ call: (any NotificationHub) async throws(HubError) -> Void
    ) async throws {
        let (at, wantedHolder) = (timestamp, claim.holder)
        let isSettled = isKnown && former?.isSettled(wantedHolder) == true
        if !isSettled {
            try await store.changeDevices { table in
                try table.want(wantedHolder, of: key, at: at)
                // A retry after a crash must find the same registration.
                if former == nil, let given { try table.setAlias(given, user: wantedHolder.user, to: key, at: at) }
            }
        }
        do throws(HubError) {
            try await call(hub)
        } catch {
            try await undo(key, former, wantedHolder, given, error, isNoted: !isSettled)
            throw BackendRefusal(error)
        }
        let isRecent = isSettled && former.map { at - $0.changedAt < Self.day } == true
        let hasAccount =
            isRecent
            ? try await store.readDevices { try $0.hasAccount(wantedHolder.user) }
            : try await store.changeDevices { table in
                try table.settle(wantedHolder, of: key, at: at, late: former?.late?.pending(at: at))
                guard try table.hasAccount(wantedHolder.user) else { return false }
                if let given { try table.setAlias(given, user: wantedHolder.user, to: key, at: at) }
                return true
            }
        guard hasAccount else {
            // The account was removed during the call, and its devices were deleted before this one was made.
            try await erase(key)
            throw BackendRefusal.unauthorized("The user has been removed.")
        }
        if isRecent { return }
        if let former, former.isRegistered, former.holder.user != wantedHolder.user {
            noteTakeOver(from: former.holder.user, by: claim)
        }
    }

    func noteTakeOver(from former: String, by claim: DeviceClaim) {
        audit.note(AuditEvent(claim.user, .deviceTakenOver, .done, claim.network))
        audit.note(AuditEvent(UserName(former), .deviceLost, .done, claim.network))
    }

    private static let day = Duration.seconds(86_400)

    /// Restores the record of a device after a failed call, as far as it is certain that the hub made no change.
    ///
    /// `isNoted` is true if ``DeviceTable/want(_:of:at:)`` came before the call.
    private func undo(
        _ key: DeviceKey,
        _ former: RegisteredDevice?,
        _ wantedHolder: RegisteredDevice.Holder,
        _ given: GivenID?,
        _ error: HubError,
        isNoted: Bool
    ) async throws {
        let at = timestamp
        switch (error.isCertain, isNoted) {
        case (true, _) where error.isGone:
            try await store.changeDevices { table in
                try table.remove(key)
                if let given { try table.noteRefusal(given, user: wantedHolder.user, at: at) }
            }
        case (true, true): try await store.changeDevices { try $0.restore(former, of: key) }
        case (false, false): try await store.changeDevices { try $0.noteLateCall(of: key, at: at) }
        case (true, false), (false, true): break
        }
    }

    /// Deletes a device at the hub and here, if it is still the user's.
    func remove(_ key: DeviceKey, of user: String) async throws {
        // Ids are not secret: other users must not be able to block the device.
        guard try await store.readDevices({ try $0.device(key) })?.isHeld(by: user) == true else { return }
        try await turns.pass(key) {
            guard let device = try await store.readDevices({ try $0.device(key) }), device.isHeld(by: user) else {
                return
            }
            if device.isRegistered {
                try await erase(key)
            } else {
                try await store.changeDevices { try $0.remove(key) }
            }
        }
    }

    /// Deletes a device at the hub, then here.
    ///
    /// A device with late calls is kept here, since those calls may create it again at the hub.
    func erase(_ key: DeviceKey) async throws {
        try await hubAnswer { hub throws(HubError) in
            switch key.kind {
            case .registration: try await hub.delete(try RegistrationID(stored: key.id))
            case .installation: try await hub.delete(try InstallationID(stored: key.id))
            }
        }
        let at = timestamp
        try await store.changeDevices { table in
            if try table.device(key)?.isLate(at: at) != true { try table.remove(key) }
        }
    }

    /// Deletes all devices of a user, including those whose last change may not have been recorded.
    ///
    /// - Throws: A ``BackendRefusal``: 503 if a late call may restore one of them; 502 or 503 for a failure of the hub.
    package func removeAll(of user: UserName) async throws {
        for device in try await store.readDevices({ try $0.devices(of: user.key) }) {
            try await remove(device.key, of: user.key)
        }
        guard try await store.readDevices({ try $0.devices(of: user.key) }).isEmpty else {
            throw BackendRefusal.unavailable(
                "The hub may still make changes that were requested earlier.",
                retryAfter: LateCalls.longest
            )
        }
    }

    @discardableResult
    func hubAnswer<Answer>(
        _ call: (any NotificationHub) async throws(HubError) -> Answer
    ) async throws(BackendRefusal) -> Answer {
        do throws(HubError) {
            return try await call(hub)
        } catch {
            throw BackendRefusal(error)
        }
    }
}

extension HubError {
    fileprivate var isGone: Bool { if case .refused(410, _, _, _) = self { true } else { false } }
}

extension TextIdentifier {
    /// Creates an id from stored text, which was checked before it was stored.
    init(stored text: String) throws(HubError) {
        do {
            try self.init(text)
        } catch {
            throw .malformedReply("a stored id is not valid: \(error.detail)")
        }
    }
}
