import HubProtocol
import Signals
import WebEdge

/// Registers devices at the hub for the users who are signed in on them.
package struct UserDevices: Sendable {
    /// The largest number of devices of one user; a further one replaces the least recently registered one.
    static let maximumDevices = 1_000
    /// The largest number of unused ids of one user.
    static let maximumReserved = 50
    /// The number of attempts of a request to find its registration while other requests change it.
    static let maximumTries = 4
    /// Largest number of registrations that are deleted to make room for a new one; each is a call to the hub.
    private static let maximumRemovals = 4

    /// The largest number of registrations for one handle that a request merges, equal to the number that the
    /// tutorials' server lists; each is one or two calls to the hub.
    static let maximumMerged = 100
    /// The largest number of other users' devices with one handle that are read: one more than can be merged, plus the
    /// one that is being registered.
    static let maximumOthers = maximumMerged + 2

    let store: BackendStore
    let hub: any NotificationHub
    let tags: DeviceTags
    let maximumTags: Int
    let audit: AuditLog
    /// Turns of the hub's ids; a request that holds one never waits for another id's or a handle's turn.
    let turns = TurnQueue<DeviceKey>.ofChanges()
    /// Turns of push handles, which are taken before those of ids.
    let handleTurns = TurnQueue<HandleDigest>.ofChanges()
    private let clock: BackendClock

    init(store: BackendStore, hub: any NotificationHub, audit: AuditLog, _ configuration: BackendConfiguration) {
        self.store = store
        self.hub = hub
        tags = DeviceTags(reserved: configuration.reservedTags)
        maximumTags = configuration.maximumTags
        clock = configuration.clock
        self.audit = audit
    }

    var timestamp: Timestamp { clock.now() }

    // MARK: - Registration ids

    /// The id for registering a user's device: its existing id, or a new one.
    ///
    /// Other registrations of this user for the same handle are deleted.
    func registrationID(for user: UserName, handle: HandleDigest?) async throws -> RegistrationID {
        if let handle {
            var kept: RegistrationID?
            let found = try await store.readDevices { try $0.registrations(of: user.key, handle: handle) }
            for device in found.prefix(Self.maximumMerged) {
                let id = try RegistrationID(device.key.id)
                if kept == nil, try await isThere(device) {
                    kept = id
                } else {
                    try await remove(device.key, of: user.key)
                }
            }
            if let kept { return kept }
        }
        let id = try await hubAnswer { hub throws(HubError) in try await hub.newRegistrationID() }
        let at = timestamp
        try await store.changeDevices {
            let holder = RegisteredDevice.Holder(user: user.key, handle: handle)
            try $0.reserve(.registration(id), for: holder, limit: Self.maximumReserved, at: at)
        }
        return id
    }

    /// False if the hub no longer has the registration, which may have expired.
    private func isThere(_ device: RegisteredDevice) async throws -> Bool {
        guard device.isRegistered else { return true }
        return try await hubDevice(device.key) != nil
    }

    // MARK: - Registrations

    /// Registers a device for a user under the id that it has stored.
    ///
    /// - Throws: A ``BackendRefusal``: 410, the first time, for an id of neither the user nor this handle;
    ///   400 for a registration that breaks the hub's rules; 502 or 503 for a failure of the hub.
    func put(
        _ wanted: WantedRegistration,
        given: GivenID,
        for user: UserName,
        from network: ClientNetwork
    ) async throws {
        // All rules are checked before anything is stored.
        _ = try wanted.registration(.random(), of: user, maximumTags: maximumTags)
        let claim = DeviceClaim(wanted.channel, of: user, from: network)
        try await handleTurns.pass(claim.handle) {
            if try await rewrite(wanted, given, claim) { return }
            var spare: RegistrationID?
            for _ in 0..<Self.maximumTries {
                let (found, others) = try await store.readDevices { table in
                    (try table.find(given, for: claim), try claim.others(in: table))
                }
                guard let id = try await target(of: found, given, claim, spare: &spare) else {
                    throw BackendRefusal.goneRegistration
                }
                let key = DeviceKey.registration(id)
                try await takeHandle(from: others, for: claim, except: key)
                let registration = try wanted.registration(id, of: user, maximumTags: maximumTags)
                let isDone = try await turns.pass(key) {
                    try await write(registration, claim, given: given, spare: spare)
                }
                if isDone { return }
            }
            throw BackendRefusal.busyDevice
        }
    }

    /// Writes a registration that the hub has under the given id for this user, as nearly all requests do.
    ///
    /// One read finds everything out, since the device's turn comes before it.
    ///
    /// - Returns: False if nothing was done: the device is being changed, or needs more than this.
    private func rewrite(
        _ wanted: WantedRegistration,
        _ given: GivenID,
        _ claim: DeviceClaim
    ) async throws -> Bool {
        guard let id = try? RegistrationID(given.text) else { return false }
        let key = given.key
        let isDone = try await turns.passIfFree(key) {
            let (found, others) = try await store.readDevices { table in
                (try table.find(given, for: claim), try claim.others(in: table))
            }
            guard case .device(let device) = found, device.key == key, device.isRegistered,
                device.isHeld(by: claim.user.key), !device.isInDoubt(for: claim.holder, at: timestamp),
                others.allSatisfy({ $0.key == key })
            else { return false }
            let registration = try wanted.registration(id, of: claim.user, maximumTags: maximumTags)
            try await change(key, from: device, for: claim, alias: given) { hub throws(HubError) in
                try await hub.put(registration)
            }
            return true
        }
        return isDone == true
    }

    /// The hub's id of the registration that a device refers to; `nil` if the device is refused this time, which is
    /// recorded.
    private func target(
        of found: DeviceFinding,
        _ given: GivenID,
        _ claim: DeviceClaim,
        spare: inout RegistrationID?
    ) async throws -> RegistrationID? {
        let (at, user) = (timestamp, claim.user.key)
        switch found {
        case .nothing:
            try await makeRoom(given, user)
            try await store.changeDevices { try $0.noteRefusal(given, user: user, at: at) }
            return nil
        case .alias:
            try await makeRoom(given, user)
            if spare == nil {
                spare = try await hubAnswer { hub throws(HubError) in try await hub.newRegistrationID() }
            }
            return spare
        case .device(let device):
            let id = try RegistrationID(device.key.id)
            if !device.isRegistered || !device.isHeld(by: user) { try await makeRoom(given, user) }
            return id
        }
    }

    /// Deletes a user's oldest devices until there is room for another.
    func makeRoom(_ given: GivenID?, _ user: String) async throws {
        for _ in 0..<Self.maximumRemovals {
            // There is nearly always room, and a read costs less than a write.
            let hasRoom = try await store.readDevices {
                try $0.hasRoom(for: given, user: user, maximumDevices: Self.maximumDevices)
            }
            if hasRoom { return }
            let excess = try await store.changeDevices { table in
                try given.flatMap { try table.makeRoomForAlias($0, user: user) }
                    ?? table.excessDevice(of: user, limit: Self.maximumDevices)?.key
            }
            guard let excess else { return }
            try await remove(excess, of: user)
        }
    }

    /// Writes a registration to the hub in the device's turn.
    ///
    /// - Returns: False if the id refers to another registration by now.
    private func write(
        _ registration: Registration,
        _ claim: DeviceClaim,
        given: GivenID,
        spare: RegistrationID?
    ) async throws -> Bool {
        let key = DeviceKey.registration(registration.id)
        let (found, hasAlias) = try await store.readDevices { table in
            (try table.find(given, for: claim), try table.hasAlias(given, user: claim.user.key, to: key))
        }
        let former: RegisteredDevice?
        switch found {
        case .device(let device) where device.key == key:
            if try await resolveDoubt(about: device, for: claim) { return false }
            former = device
        case .alias where registration.id == spare: former = nil
        default: return false
        }
        try await change(key, from: former, for: claim, alias: given, isKnown: hasAlias) { hub throws(HubError) in
            try await hub.put(registration)
        }
        return true
    }

    /// Deletes the registration that a user's id refers to.
    ///
    /// A registration of another user is not changed, and the client cannot tell the difference.
    func delete(given: GivenID, for user: UserName) async throws {
        guard let device = try await store.readDevices({ try $0.own(given, user: user.key) }) else { return }
        try await remove(device.key, of: user.key)
    }
}
