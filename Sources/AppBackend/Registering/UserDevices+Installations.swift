import HubProtocol
import Signals
import WebEdge

extension UserDevices {
    /// Registers an installation for a user.
    ///
    /// - Throws: A ``BackendRefusal``: 409 for an id of another device; 502 or 503 for a failure of the hub.
    func put(_ installation: Installation, for user: UserName, from network: ClientNetwork) async throws {
        guard let channel = installation.pushChannel else {
            throw BackendRefusal.badRequest("The member 'pushChannel' is missing.")
        }
        let key = DeviceKey.installation(installation.id)
        let claim = DeviceClaim(channel, of: user, from: network)
        var tagged = installation
        tagged.tags.append(DeviceTags.tag(of: user))
        let wanted = tagged
        try await handleTurns.pass(claim.handle) {
            for _ in 0..<Self.maximumTries {
                // Ids are not secret: other users must not be able to block the device.
                let (former, others) = try await store.readDevices { table in
                    (try table.device(key), try claim.others(in: table))
                }
                if let former {
                    try checkOwner(former, claim)
                } else {
                    try await checkChannel(of: installation.id, channel)
                }
                if former?.isHeld(by: user.key) != true { try await makeRoom(nil, user.key) }
                try await takeHandle(from: others, for: claim, except: key)
                let isDone = try await turns.pass(key) { try await write(wanted, claim, wasKnown: former != nil) }
                if isDone { return }
            }
            throw BackendRefusal.busyDevice
        }
    }

    /// Writes an installation to the hub in the device's turn.
    ///
    /// - Returns: False if its owner must be checked again.
    private func write(_ installation: Installation, _ claim: DeviceClaim, wasKnown: Bool) async throws -> Bool {
        let key = DeviceKey.installation(installation.id)
        let former = try await store.readDevices { try $0.device(key) }
        if let former {
            try checkOwner(former, claim)
            if try await resolveDoubt(about: former, for: claim) { return false }
        } else if wasKnown {
            return false
        }
        try await change(key, from: former, for: claim) { hub throws(HubError) in try await hub.put(installation) }
        return true
    }

    /// - Throws: 409 unless the user, or the device, is the one that registered the installation here.
    private func checkOwner(_ device: RegisteredDevice, _ claim: DeviceClaim) throws(BackendRefusal) {
        if !device.isHeld(by: claim.user.key), !device.has(claim.handle) { throw .foreignInstallation }
    }

    /// Checks an installation that was not registered here: an agent may have registered it at the hub before it signed
    /// in.
    ///
    /// - Throws: 409 if the hub has it with another push channel.
    private func checkChannel(of id: InstallationID, _ channel: PushChannel) async throws(BackendRefusal) {
        let found = try await hubAnswer { hub throws(HubError) in
            try await hub.installation(id, comparing: channel)
        }
        if found?.hasSameChannel == false { throw .foreignInstallation }
    }

    /// Deletes an installation of a user.
    ///
    /// An installation of another user is not changed, and the client cannot tell the difference.
    func delete(_ id: InstallationID, for user: UserName) async throws {
        try await remove(.installation(id), of: user.key)
    }
}

extension BackendRefusal {
    fileprivate static let foreignInstallation = conflict(
        "The installation belongs to another device: use another id."
    )
}
