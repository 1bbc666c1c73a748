import HubProtocol
import HubRouting
import HubStore

/// A push service's statement about a handle.
struct HandleChange: Sendable, Equatable {
    enum Kind: Sendable, Equatable {
        /// The handle has been dead since a time; registrations written later are not affected.
        case dead(since: Timestamp)
        case replaced(by: String)
    }

    let platform: Platform
    /// The channel that the message was sent to.
    let channel: PushChannel
    let kind: Kind
}

extension Transaction {
    /// Applies statements about handles to every registration and installation that has one of them.
    ///
    /// Registrations that belong to no installation are deleted, which their clients notice at the next request.
    /// Installations are kept, and marked until their devices send another handle.
    func apply(_ changes: [HandleChange], hub: HubKey, at: Timestamp) throws -> [any HubEffect] {
        var effects: [any HubEffect] = []
        for change in changes {
            let stored = try registrations(hub: hub, handle: change.channel.handle)
            for registration in stored where registration.isMeant(by: change) {
                if let (id, part) = registration.installation {
                    if let effect = try apply(change, toPart: part, of: id, hub: hub, at: at) {
                        effects.append(effect)
                    }
                } else if let effect = try apply(change, to: registration, hub: hub, at: at) {
                    effects.append(TargetsEffect([effect]))
                }
            }
        }
        return effects
    }

    private func apply(
        _ change: HandleChange,
        to stored: StoredRegistration,
        hub: HubKey,
        at: Timestamp
    ) throws -> TargetChange? {
        switch change.kind {
        case .dead: return try delete(stored, tombstone: true, hub: hub, at: at)
        case .replaced(let new):
            var registration = stored.registration
            registration.pushChannel = .handle(new)
            return try put(registration, replacing: stored, writer: stored.writer, hub: hub, at: at).change
        }
    }

    private func apply(
        _ change: HandleChange,
        toPart part: InstallationPart,
        of id: InstallationID,
        hub: HubKey,
        at: Timestamp
    ) throws -> InstallationEffect? {
        guard let current = try installation(hub: hub, id: id), current.isReadable else { return nil }
        var installation = current.installation
        switch (change.kind, part.tile) {
        case (.dead, nil): installation.pushChannelExpired = true
        case (.dead, let tile?): installation.secondaryTiles[tile]?.pushChannelExpired = true
        case (.replaced(let new), nil): installation.pushChannel = .handle(new)
        case (.replaced(let new), let tile?): installation.secondaryTiles[tile]?.pushChannel = .handle(new)
        }
        guard installation != current.installation else { return nil }
        let writer = try writer(ofInstallation: current.ordinal)
        return try write(installation, replacing: current, writer: writer, hub: hub, at: at)
    }
}

extension StoredRegistration {
    /// True for the same handle on the same platform that was not registered again since it died.
    fileprivate func isMeant(by change: HandleChange) -> Bool {
        guard registration.platform == change.platform,
            registration.pushChannel.isSameAddress(as: change.channel)
        else { return false }
        return switch change.kind {
        case .dead(let since): updatedAt <= since
        case .replaced: true
        }
    }
}
