import Foundation
import HubProtocol
import HubRouting
import HubStore

/// The installations of a hub.
struct Installations {
    /// Maximum number of registrations that one installation replaces.
    private static let maximumReplaced = 1_000

    let hub: Hub

    /// Stores a new or changed installation.
    ///
    /// `channel` is the secret that the request presents for an existing `stream` installation; `bytes` is the size of
    /// its body. Registrations with the installation's own tag that were registered on their own are removed: they come
    /// from an export of this very installation at another hub, and its device must get messages only once.
    ///
    /// - Throws: 409 if the id belongs to a `stream` installation and neither its secret nor Manage was presented; 401
    ///   if a reserved tag would change without Manage.
    func put(_ installation: Installation, bytes: Int, grant: Grant, channel: PushChannelSecret?) async throws {
        try await change(
            installation.id,
            bytes: bytes,
            grant,
            replacesRegistrations: installation.platform != .stream
        ) { current in
            if let current, !current.isOpen(to: grant, channel: channel) {
                throw ProtocolError.conflict(
                    "The installation '\(installation.id)' exists and the request lacks its push channel."
                )
            }
            return (installation, [])
        }
    }

    /// Changes parts of an installation.
    ///
    /// - Throws: 404 if it does not exist, or the caller may not change it.
    func patch(
        _ id: InstallationID,
        _ patch: InstallationPatch,
        bytes: Int,
        grant: Grant,
        channel: PushChannelSecret?
    ) async throws {
        let maximumTags = hub.configuration.maximumTags
        try await change(id, bytes: bytes, grant) { current in
            guard let current, current.isReadable, current.isOpen(to: grant, channel: channel) else {
                throw ProtocolError.noInstallation
            }
            return (try patch.applied(to: current.installation, maximumTags: maximumTags), patch.removedTags)
        }
    }

    private func change(
        _ id: InstallationID,
        bytes: Int,
        _ grant: Grant,
        replacesRegistrations: Bool = false,
        wanted: @escaping @Sendable (StoredInstallation?) throws -> (Installation, removed: [Tag])
    ) async throws {
        let (hub, configuration) = (hub.record.id, hub.configuration)
        let at = configuration.timestamp
        let keyID = BrowserKeys.keyID(of: self.hub)
        try await self.hub.perform(bytes: bytes) { transaction, view in
            let current = try transaction.installation(hub: hub, id: id)
            var (installation, removed) = try wanted(current)
            installation.addTemplateNameTags()
            let former = current.flatMap { $0.isReadable ? $0.installation.pushChannel : nil }
            installation.pushChannel = installation.pushChannel?.stamped(with: keyID, after: former)
            if !grant.mayManage {
                try installation.keepReservedTags(
                    of: current,
                    configuration.reservedTags,
                    removed: removed,
                    maximumTags: configuration.maximumTags
                )
            }
            var change = try transaction.write(
                installation,
                replacing: current,
                writer: grant.writer,
                hub: hub,
                at: at
            )
            try configuration.listenQuota.check(
                change.targets,
                by: grant.writer,
                view.registry.listenUsage,
                view.registry.listenShares
            )
            if replacesRegistrations {
                let others = view.registry.registrations(taggedBy: .installation(id), limit: Self.maximumReplaced)
                change.replaced = try transaction.end(ordinals: others, tagged: .installation(id), hub: hub, at: at)
            }
            return ((), [change])
        }
    }

    /// Reads an installation.
    ///
    /// - Throws: 404 if it does not exist, or the caller may not read it.
    func installation(
        _ id: InstallationID,
        grant: Grant,
        channel: PushChannelSecret?
    ) async throws -> StoredInstallation {
        guard
            let stored = try await hub.store.installation(hub: hub.record.id, id: id),
            stored.isReadable, stored.isOpen(to: grant, channel: channel)
        else { throw ProtocolError.noInstallation }
        return stored
    }

    /// Removes an installation with its stream and its pending messages; does nothing if it does not exist.
    ///
    /// Registrations that an import has created for it are removed, too.
    ///
    /// - Throws: 404 if it is a `stream` installation that the caller may not remove.
    func delete(_ id: InstallationID, grant: Grant, channel: PushChannelSecret?) async throws {
        try await remove([id], withRegistrations: true) { current in
            guard current.isOpen(to: grant, channel: channel) else { throw ProtocolError.noInstallation }
            return true
        }
    }

    /// Removes at most `limit` installations that have expired by a trusted clock.
    ///
    /// - Returns: Number of installations that were found.
    func removeExpired(at now: Timestamp, limit: Int, in term: LeaseTerm = .unshared) async throws -> Int {
        let expired = try await hub.store.expiredInstallations(hub: hub.record.id, at: now, limit: limit)
        guard !expired.isEmpty else { return 0 }
        // Its expiry may have been extended meanwhile.
        try await remove(expired, in: term) { $0.expiresAt.map { $0 <= now } ?? false }
        return expired.count
    }

    /// Removes installations and, on request, all registrations that carry the tag of one of them.
    private func remove(
        _ ids: [InstallationID],
        withRegistrations: Bool = false,
        in term: LeaseTerm = .unshared,
        where isMeant: @escaping @Sendable (StoredInstallation) throws -> Bool
    ) async throws {
        let hub = hub.record.id
        let at = self.hub.configuration.timestamp
        try await self.hub.perform { transaction, view in
            try term.check(transaction)
            var effects: [any HubEffect] = []
            for id in ids {
                if let current = try transaction.installation(hub: hub, id: id), try isMeant(current) {
                    effects.append(try transaction.remove(current, hub: hub, at: at))
                }
                guard withRegistrations else { continue }
                let others = view.registry.registrations(taggedBy: .installation(id), limit: Self.maximumReplaced)
                let ended = try transaction.end(ordinals: others, tagged: .installation(id), hub: hub, at: at)
                if !ended.isEmpty { effects.append(TargetsEffect(ended)) }
            }
            return ((), effects)
        }
    }
}

extension Transaction {
    /// Stores a checked installation, replacing `current` if there is one.
    ///
    /// `writer` is `nil` for a holder of Manage. If the change is the deletion of one of its registrations,
    /// `deleted` is that registration.
    ///
    /// - Throws: 400 for a `stream` installation without a push channel.
    func write(
        _ installation: Installation,
        replacing current: StoredInstallation?,
        writer: ListenWriter?,
        hub: HubKey,
        at: Timestamp,
        deleted: RegistrationID? = nil
    ) throws -> InstallationEffect {
        let digest = try installation.streamChannelDigest(keeping: current)
        let write =
            if let current {
                try update(
                    current,
                    to: installation,
                    channelDigest: digest,
                    writer: writer,
                    hub: hub,
                    at: at,
                    deleted: deleted
                )
            } else {
                try insert(installation, channelDigest: digest, writer: writer, hub: hub, at: at)
            }
        return InstallationEffect(
            ordinal: write.stored.ordinal,
            entry: try Registry.Entry(write.stored),
            sequence: write.sequence,
            targets: write.changes,
            endsStream: current.map { $0.channelDigest != digest } ?? false
        )
    }

    /// Removes an installation; if the change is the deletion of one of its registrations, `deleted` is that
    /// registration.
    func remove(
        _ current: StoredInstallation,
        hub: HubKey,
        at: Timestamp,
        deleted: RegistrationID? = nil
    ) throws -> InstallationEffect {
        let (sequence, changes) = try delete(current, hub: hub, at: at, deleted: deleted)
        return InstallationEffect(
            ordinal: current.ordinal,
            entry: nil,
            sequence: sequence,
            targets: changes,
            endsStream: true
        )
    }
}

extension StoredInstallation {
    /// The time of automatic removal; `nil` for never.
    var expiresAt: Timestamp? {
        installation.expirationTime.map { Timestamp($0) }
    }

    /// True if a caller may read and change this installation.
    ///
    /// A `stream` installation requires its secret or Manage. Other installations are protected by their id, as in
    /// Azure.
    func isOpen(to grant: Grant, channel: PushChannelSecret?) -> Bool {
        if grant.mayManage || installation.platform != .stream { return true }
        guard let channel, let channelDigest else { return false }
        return channel.matches(digest: channelDigest)
    }
}

extension Installation {
    /// The hash of a `stream` installation's secret; a change that names no secret keeps the present one.
    fileprivate func streamChannelDigest(keeping current: StoredInstallation?) throws(ProtocolError) -> [UInt8]? {
        guard platform == .stream else { return nil }
        if case .handle(let text) = pushChannel { return try PushChannelSecret(text).digest }
        guard let digest = current?.channelDigest else {
            throw .badRequest(
                "A 'stream' installation needs a pushChannel of 43 base64url characters (32 random bytes)."
            )
        }
        return digest
    }
}
