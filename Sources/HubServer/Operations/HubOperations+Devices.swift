import HubProtocol
import HubRouting
import HubStore

// MARK: - Installations

extension HubOperations {
    /// Creates or overwrites an installation.
    ///
    /// - Parameters:
    ///   - channel: The secret that the caller presents for an existing `stream` installation.
    ///   - read: Reads the installation, once the change is admitted, with its size in bytes.
    /// - Throws: The errors of ``Installations/put(_:bytes:grant:channel:)``, 429, and the errors of `read`.
    func putInstallation(
        channel: PushChannelSecret?,
        _ read: () async throws -> (installation: Installation, bytes: Int)
    ) async throws {
        try admitChange()
        let (installation, bytes) = try await read()
        try await hub.installations.put(installation, bytes: bytes, grant: grant, channel: channel)
    }

    /// Changes parts of an installation; see ``putInstallation(channel:_:)``.
    func patchInstallation(
        _ id: InstallationID,
        channel: PushChannelSecret?,
        _ read: () async throws -> (patch: InstallationPatch, bytes: Int)
    ) async throws {
        try admitChange()
        let (patch, bytes) = try await read()
        try await hub.installations.patch(id, patch, bytes: bytes, grant: grant, channel: channel)
    }

    /// - Throws: 404 if the installation does not exist, or the caller may not read it.
    func installation(_ id: InstallationID, channel: PushChannelSecret?) async throws -> StoredInstallation {
        try need(.listen)
        return try await hub.installations.installation(id, grant: grant, channel: channel)
    }

    func deleteInstallation(_ id: InstallationID, channel: PushChannelSecret?) async throws {
        try admitChange()
        try await hub.installations.delete(id, grant: grant, channel: channel)
    }

    /// The `stream` installations after a given one; with a tag or user, those that have it.
    ///
    /// Reads at most ``HubProtocol/InstallationList/maximumListed`` rows, whether they are returned or not.
    ///
    /// - Parameters:
    ///   - tag: The tag; `nil` for all.
    ///   - start: `next` of the previous page.
    ///   - count: The largest number of installations to return.
    /// - Returns: The page.
    /// - Throws: 400 for a start that no page has named, or a count that is too large.
    func streamInstallations(with tag: Tag?, from start: String?, count: Int) async throws -> InstallationList {
        try need(.manage)
        let maximum = InstallationList.maximumListed
        guard let after = Int64(start ?? "0"), after >= 0 else {
            throw ProtocolError.badRequest("'from' must come from the previous page, not '\((start ?? "").excerpt)'.")
        }
        try Self.check(count, named: "top", maximum: maximum)
        let found = try await hub.store.streams(
            hub: hub.record.id,
            after: Ordinal(rawValue: after),
            limit: maximum
        )
        var (listed, last): ([InstallationList.Entry], Ordinal?) = ([], nil)
        for stored in found {
            guard listed.count < count else { break }
            last = stored.ordinal
            if stored.isReadable, tag.map(stored.installation.has) ?? true { listed.append(.init(stored.installation)) }
        }
        let isLast = found.count < maximum && last == found.last?.ordinal
        return InstallationList(installations: listed, next: isLast ? nil : last.map { "\($0.rawValue)" })
    }
}

extension Installation {
    /// True if the installation has a tag, or is a user's with the server-assigned tag of that user.
    fileprivate func has(_ tag: Tag) -> Bool { tags.contains(tag) || userID.map { Tag.user($0) == tag } ?? false }
}

// MARK: - Registrations

extension HubOperations {
    /// Creates or overwrites a registration; see ``putInstallation(channel:_:)``.
    func putRegistration(
        if condition: ETagCondition,
        _ read: () async throws -> (registration: Registration, bytes: Int)
    ) async throws -> StoredRegistration {
        try admitChange()
        let (registration, bytes) = try await read()
        return try await hub.registrations.put(registration, if: condition, bytes: bytes, grant: grant)
    }

    func registration(_ id: RegistrationID) async throws -> StoredRegistration {
        try need(.listen)
        return try await hub.registrations.registration(id)
    }

    func deleteRegistration(_ id: RegistrationID, if condition: ETagCondition) async throws {
        try admitChange()
        try await hub.registrations.delete(id, if: condition)
    }

    /// A page of registrations; see ``Registrations/page(_:from:limit:)``.
    func registrations(
        _ selection: RegistrationSelection,
        from start: ContinuationToken?,
        limit: Int
    ) async throws -> RegistrationPage {
        switch selection {
        case .handle: try need(.listen)
        case .all, .tag: try need(.manage)
        }
        return try await hub.registrations.page(selection, from: start?.position, limit: limit)
    }
}
