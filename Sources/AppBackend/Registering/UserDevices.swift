import HubClient
import HubProtocol

/// Registers devices at the hub for the users who are signed in on them.
package struct UserDevices: Sendable {
    /// Devices of one user; the one that registered longest ago makes room for another.
    static let maximumDevices = 1_000
    /// Ids of one user that were given out and not used.
    static let maximumReserved = 50
    /// Times that a request looks for its registration, which another request may have changed.
    private static let maximumTries = 4
    /// Registrations that make room for one new one at most; each is a call to the hub.
    private static let maximumRemovals = 4

    /// Registrations for one handle that a request merges at most, as many as the tutorials' server lists; each is one
    /// or two calls to the hub.
    static let maximumMerged = 100

    let store: BackendStore
    let hub: HubClient
    let tags: DeviceTags
    let maximumTags: Int
    private let clock: BackendClock
    private let audit: AuditLog
    private let turns = DeviceTurns()

    init(store: BackendStore, hub: HubClient, audit: AuditLog, _ configuration: BackendConfiguration) {
        self.store = store
        self.hub = hub
        tags = DeviceTags(reserved: configuration.reservedTags)
        maximumTags = configuration.maximumTags
        clock = configuration.clock
        self.audit = audit
    }

    private var timestamp: Timestamp { clock.now() }

    // MARK: - Registration ids

    /// The id under which a user's device is to be registered: the one that it has, or a new one.
    ///
    /// Other registrations of this user for the same handle are deleted.
    func registrationID(for user: UserName, handle: HandleDigest?) async throws -> RegistrationID {
        if let handle {
            var kept: RegistrationID?
            let found = try await store.readDevices { try $0.registrations(of: user.key, handle: handle) }
            for device in found.prefix(Self.maximumMerged) {
                let id = try RegistrationID(device.key.id)
                if kept == nil, try await isThere(id, device) {
                    kept = id
                } else {
                    try await remove(device.key, of: user.key)
                }
            }
            if let kept { return kept }
        }
        let id = try await hubAnswer { hub throws(HubClientError) in try await hub.newRegistrationID() }
        let at = timestamp
        try await store.changeDevices {
            let holder = Device.Holder(user: user.key, handle: handle)
            try $0.reserve(.registration(id), for: holder, limit: Self.maximumReserved, at: at)
        }
        return id
    }

    /// True unless the hub has lost the registration, which may have expired.
    private func isThere(_ id: RegistrationID, _ device: Device) async throws -> Bool {
        guard device.isRegistered else { return true }
        do throws(HubClientError) {
            _ = try await hub.registration(id)
            return true
        } catch .refused(404, _, _, _) {
            return false
        } catch {
            throw BackendRefusal(error)
        }
    }

    // MARK: - Registrations

    /// Registers a device for a user under the id that it has stored.
    ///
    /// - Throws: 410 for an id that is none of the user's and of another handle, the first time; 400 for what breaks the
    ///   hub's rules; what the hub's failure means.
    func put(
        _ wanted: WantedRegistration,
        given: GivenID,
        for user: UserName,
        from network: ClientNetwork
    ) async throws {
        // All rules are checked before anything is noted.
        _ = try wanted.registration(.random(), of: user, maximumTags: maximumTags)
        let wish = Device.Holder(user: user.key, handle: HandleDigest(wanted.channel))
        var spare: RegistrationID?
        for _ in 0..<Self.maximumTries {
            let found = try await find(given, wish)
            guard let id = try await target(of: found, given, wish, spare: &spare) else {
                throw BackendRefusal.goneRegistration
            }
            let registration = try wanted.registration(id, of: user, maximumTags: maximumTags)
            let isDone = try await turns.pass(.registration(id)) {
                try await write(registration, wish, given: given, spare: spare, network)
            }
            if isDone { return }
        }
        throw BackendRefusal.unavailable("Other requests change this device all the time.", retryAfter: .seconds(1))
    }

    private func find(_ given: GivenID, _ wish: Device.Holder) async throws -> DeviceFinding {
        try await store.readDevices { table in
            guard let handle = wish.handle else { return .nothing }
            return try table.find(given, user: wish.user, handle: handle)
        }
    }

    /// The hub's id for what a device means; `nil` if the device is refused this time, which is noted.
    private func target(
        of found: DeviceFinding,
        _ given: GivenID,
        _ wish: Device.Holder,
        spare: inout RegistrationID?
    ) async throws -> RegistrationID? {
        let at = timestamp
        switch found {
        case .nothing:
            try await makeRoom(given, wish.user)
            try await store.changeDevices { try $0.noteRefusal(given, user: wish.user, at: at) }
            return nil
        case .alias:
            try await makeRoom(given, wish.user)
            if spare == nil {
                spare = try await hubAnswer { hub throws(HubClientError) in try await hub.newRegistrationID() }
            }
            return spare
        case .device(let device):
            let id = try RegistrationID(device.key.id)
            if !device.isRegistered || !device.isHeld(by: wish.user) { try await makeRoom(given, wish.user) }
            return id
        }
    }

    /// Removes registrations of a user for which there is no more room, the oldest first.
    private func makeRoom(_ given: GivenID?, _ user: String) async throws {
        for _ in 0..<Self.maximumRemovals {
            let excess = try await store.changeDevices { table in
                try given.flatMap { try table.makeRoomForAlias($0, user: user) }
                    ?? table.excessDevice(of: user, limit: Self.maximumDevices)?.key
            }
            guard let excess else { return }
            try await remove(excess, of: user)
        }
    }

    /// Writes a registration to the hub while nobody else changes it.
    ///
    /// - Returns: `false` if it is not the one that is meant any more.
    private func write(
        _ registration: Registration,
        _ wish: Device.Holder,
        given: GivenID,
        spare: RegistrationID?,
        _ network: ClientNetwork
    ) async throws -> Bool {
        let key = DeviceKey.registration(registration.id)
        let former: Device?
        switch try await find(given, wish) {
        case .device(let device) where device.key == key: former = device
        case .alias where registration.id == spare: former = nil
        default: return false
        }
        try await change(key, from: former, to: wish, alias: given, network) { hub throws(HubClientError) in
            try await hub.put(registration)
        }
        return true
    }

    /// Deletes the registration that a user means by an id; one that is none of the user's stays, and looks the same.
    func delete(given: GivenID, for user: UserName) async throws {
        guard let device = try await store.readDevices({ try $0.own(given, user: user.key) }) else { return }
        try await remove(device.key, of: user.key)
    }

    // MARK: - Installations

    /// Registers an installation for a user.
    ///
    /// - Throws: 409 for an id of another device; what the hub's failure means.
    func put(_ installation: Installation, for user: UserName, from network: ClientNetwork) async throws {
        guard let channel = installation.pushChannel else {
            throw BackendRefusal.badRequest("The member 'pushChannel' is missing.")
        }
        let key = DeviceKey.installation(installation.id)
        let wish = Device.Holder(user: user.key, handle: HandleDigest(channel))
        var tagged = installation
        tagged.tags.append(DeviceTags.tag(of: user))
        let wanted = tagged
        if try await store.readDevices({ try $0.device(key) })?.isHeld(by: user.key) != true {
            try await makeRoom(nil, user.key)
        }
        try await turns.pass(key) {
            let former = try await store.readDevices { try $0.device(key) }
            try await checkOwner(of: installation.id, channel, former, wish)
            try await change(key, from: former, to: wish, network) { hub throws(HubClientError) in
                try await hub.put(wanted)
            }
        }
    }

    /// - Throws: 409 unless the user, or the device, is the one that registered the installation.
    private func checkOwner(
        of id: InstallationID,
        _ channel: PushChannel,
        _ former: Device?,
        _ wish: Device.Holder
    ) async throws {
        let isOwn: Bool
        if let former {
            isOwn = former.isHeld(by: wish.user) || wish.handle.map(former.has) ?? false
        } else {
            // It may have been registered at the hub itself, by an agent that signs in only now.
            let found = try await hubAnswer { hub throws(HubClientError) in
                try await hub.installation(id, comparing: channel)
            }
            isOwn = found?.hasSameChannel ?? true
        }
        guard isOwn else {
            throw BackendRefusal.conflict("The installation exists and belongs to another device: use another id.")
        }
    }

    /// Deletes an installation of a user; one that is none of the user's stays, and looks the same.
    func delete(_ id: InstallationID, for user: UserName) async throws {
        try await remove(.installation(id), of: user.key)
    }

    // MARK: - The hub and the store

    /// Changes a device at the hub, and notes before and after what it has become.
    private func change(
        _ key: DeviceKey,
        from former: Device?,
        to wish: Device.Holder,
        alias given: GivenID? = nil,
        _ network: ClientNetwork,
        _ call: (HubClient) async throws(HubClientError) -> Void
    ) async throws {
        let at = timestamp
        let isSettled = try await store.readDevices { table in
            let hasAlias = try given.map { try table.hasAlias($0, user: wish.user, to: key) } ?? true
            return hasAlias && former?.isSettled(wish) == true
        }
        if !isSettled {
            try await store.changeDevices { table in
                try table.want(wish, of: key, at: at)
                // A retry after a crash must find the same registration.
                if former == nil, let given { try table.setAlias(given, user: wish.user, to: key, at: at) }
            }
        }
        do throws(HubClientError) {
            try await call(hub)
        } catch {
            if !isSettled || error.isGone { try await undo(key, former, wish, given, error) }
            throw BackendRefusal(error)
        }
        let isRecent = isSettled && former.map { at - $0.changedAt < Self.day } == true
        let hasAccount =
            isRecent
            ? try await store.readDevices { try $0.hasAccount(wish.user) }
            : try await store.changeDevices { table in
                guard try table.hasAccount(wish.user) else { return false }
                try table.settle(wish, of: key, at: at)
                if let given { try table.setAlias(given, user: wish.user, to: key, at: at) }
                return true
            }
        guard hasAccount else {
            // The account was removed while the hub was called: what cleared the user's devices came too early for this one.
            try await erase(key)
            throw BackendRefusal.unauthorized("The user has been removed.")
        }
        if isRecent { return }
        if let former, former.isRegistered, former.holder.user != wish.user {
            audit.note(AuditEvent(UserName(wish.user), .deviceTakenOver, .done, network))
            audit.note(AuditEvent(UserName(former.holder.user), .deviceLost, .done, network))
        }
    }

    private static let day = Duration.seconds(86_400)

    /// Notes that the hub did not do what was wanted, as far as that is certain.
    private func undo(
        _ key: DeviceKey,
        _ former: Device?,
        _ wish: Device.Holder,
        _ given: GivenID?,
        _ error: HubClientError
    ) async throws {
        guard error.isCertain else { return }
        let at = timestamp
        try await store.changeDevices { table in
            if error.isGone {
                try table.remove(key)
                if let given { try table.noteRefusal(given, user: wish.user, at: at) }
            } else {
                try table.restore(former, of: key)
            }
        }
    }

    /// Deletes a device at the hub and here, if it is still the user's.
    private func remove(_ key: DeviceKey, of user: String) async throws {
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
    private func erase(_ key: DeviceKey) async throws {
        try await hubAnswer { hub throws(HubClientError) in
            switch key.kind {
            case .registration: try await hub.delete(try RegistrationID(stored: key.id))
            case .installation: try await hub.delete(try InstallationID(stored: key.id))
            }
        }
        try await store.changeDevices { try $0.remove(key) }
    }

    /// Deletes all devices of a user, those included whose last change may not have been noted.
    package func removeAll(of user: UserName) async throws {
        for device in try await store.readDevices({ try $0.devices(of: user.key) }) {
            try await remove(device.key, of: user.key)
        }
    }

    @discardableResult
    private func hubAnswer<Answer>(
        _ call: (HubClient) async throws(HubClientError) -> Answer
    ) async throws(BackendRefusal) -> Answer {
        do throws(HubClientError) {
            return try await call(hub)
        } catch {
            throw BackendRefusal(error)
        }
    }
}

extension HubClientError {
    fileprivate var isGone: Bool { if case .refused(410, _, _, _) = self { true } else { false } }

    /// True if the hub has certainly not done what it was asked for.
    fileprivate var isCertain: Bool {
        if case .refused(let status, _, _, _) = self { (400..<500).contains(status) && status != 408 } else { false }
    }
}

extension TextIdentifier {
    /// An id that was checked before it was stored.
    fileprivate init(stored text: String) throws(HubClientError) {
        do {
            try self.init(text)
        } catch {
            throw .malformedReply("a stored id is not valid: \(error.detail)")
        }
    }
}
