import Foundation
import HubProtocol
import HubRouting
import HubStore
import Signals

/// The registrations in a list.
enum RegistrationSelection: Sendable {
    case all
    case tag(Tag)
    /// Holders of Listen must not find a device with reserved tags by its push channel.
    case handle(HandleFilter, Grant)

    var isOfTag: Bool { if case .tag = self { true } else { false } }
}

/// The registrations of a hub.
struct Registrations {
    let hub: Hub

    /// Stores a new registration, or replaces one with the same id, and returns its ETag and expiration time.
    ///
    /// - Throws: 404 or 412 if the condition is not met, 410 if the id has ended or belongs to an installation, 401 if
    ///   a reserved tag would change without Manage.
    func put(
        _ registration: Registration,
        if condition: ETagCondition,
        bytes: Int,
        grant: Grant
    ) async throws -> StoredRegistration {
        let at = hub.configuration.timestamp
        return try await hub.perform(bytes: bytes) { transaction, view in
            let (stored, change) = try stage(
                registration,
                if: condition,
                writer: grant.writer,
                at: at,
                transaction,
                view
            )
            return (stored, [TargetsEffect([change])])
        }
    }

    /// Does the work of ``put(_:if:bytes:grant:)`` inside a transaction.
    ///
    /// `writer` is `nil` for a holder of Manage. An import stores registrations unchanged: their own expiration time takes precedence over the hub's, and an id
    /// that has ended may be used again.
    ///
    /// - Throws: Refusals. Rows written before a refusal are undone with the caller's transaction or savepoint.
    func stage(
        _ registration: Registration,
        if condition: ETagCondition,
        writer: ListenWriter?,
        isImport: Bool = false,
        at: Timestamp,
        _ transaction: Transaction,
        _ view: borrowing HubMachine
    ) throws -> (StoredRegistration, TargetChange) {
        let configuration = self.hub.configuration
        let hub = self.hub.record.id
        let current = try transaction.registration(hub: hub, id: registration.id)
        // Device SDKs request a new id only after 410.
        if let installation = current?.installation {
            throw ProtocolError.gone(
                """
                The registration '\(registration.id)' is part of the installation '\(installation.id)'; request a new \
                registration id and use that, or change the installation with PUT or PATCH of \
                /installations/\(installation.id).
                """
            )
        }
        let hasEnded = try current == nil && transaction.hasEnded(hub: hub, id: registration.id)
        if hasEnded, !isImport {
            throw ProtocolError.gone(
                """
                The registration '\(registration.id)' has expired, was removed with its installation, or has a push \
                handle that the push service refused; request a new registration id and use that.
                """
            )
        }
        try condition.check(current?.registration.etag)
        var wanted = registration
        let channel = registration.pushChannel
        wanted.pushChannel = channel.stamped(
            with: BrowserKeys.keyID(of: self.hub),
            after: current?.registration.pushChannel
        )
        if writer != nil { try wanted.keepReservedTags(of: current?.registration, configuration.reservedTags) }
        if !isImport || wanted.expirationTime == nil {
            wanted.expirationTime = view.policy.registrationLifetime.map { (at + $0).date }
        }
        if hasEnded { try transaction.revive(registration.id, hub: hub) }
        let written = try transaction.put(wanted, replacing: current, writer: writer, hub: hub, at: at)
        try configuration.listenQuota.check(
            [written.change],
            by: writer,
            view.registry.listenUsage,
            view.registry.listenShares
        )
        return written
    }

    /// Removes a registration.
    ///
    /// A registration of an installation is removed with its part: the template, the tile or, for the native one, the
    /// installation. If the registration has already been removed in this way, or has expired, there is no error:
    /// clients delete one by one the registrations that they have listed.
    ///
    /// - Throws: 404 if it does not exist, 412 if the condition is not met.
    func delete(_ id: RegistrationID, if condition: ETagCondition) async throws {
        let at = hub.configuration.timestamp
        try await hub.perform { transaction, _ in
            ((), try stageDeletion(of: id, if: condition, at: at, transaction).effects)
        }
    }

    /// Does the work of ``delete(_:if:)`` inside a transaction.
    ///
    /// - Returns: The former registration, `nil` for one that had ended before, and the effects of its end.
    func stageDeletion(
        of id: RegistrationID,
        if condition: ETagCondition,
        at: Timestamp,
        _ transaction: Transaction
    ) throws -> (former: Registration?, effects: [any HubEffect]) {
        let hub = hub.record.id
        guard
            let current = try transaction.registration(hub: hub, id: id),
            current.registration.platform != .stream
        else {
            guard try transaction.hasEnded(hub: hub, id: id) else { throw ProtocolError.noRegistration }
            return (nil, [])
        }
        try condition.check(current.registration.etag)
        guard let (installationID, part) = current.installation else {
            let change = try transaction.delete(current, tombstone: false, hub: hub, at: at)
            return (current.registration, [TargetsEffect([change])])
        }
        guard let installation = try transaction.installation(hub: hub, id: installationID) else {
            throw ProtocolError.noRegistration
        }
        guard part != .main else {
            let change = try transaction.remove(installation, hub: hub, at: at, deleted: id)
            return (current.registration, [change])
        }
        let change = try transaction.write(
            installation.installation.without(part),
            replacing: installation,
            writer: try transaction.writer(ofInstallation: installation.ordinal),
            hub: hub,
            at: at,
            deleted: id
        )
        return (current.registration, [change])
    }

    /// Ends at most `limit` registrations that have expired by a trusted clock.
    ///
    /// - Returns: Number of registrations that were found.
    func endExpired(at now: Timestamp, limit: Int, in term: LeaseTerm = .unshared) async throws -> Int {
        let hub = hub.record.id
        let expired = try await self.hub.store.expiredRegistrations(hub: hub, at: now, limit: limit)
        guard !expired.isEmpty else { return 0 }
        try await self.hub.perform { transaction, _ in
            try term.check(transaction)
            let ended = try expired.compactMap { id -> TargetChange? in
                // It may have been renewed meanwhile.
                guard
                    let current = try transaction.registration(hub: hub, id: id),
                    let expiration = current.registration.expirationTime, Timestamp(expiration) <= now
                else { return nil }
                return try transaction.delete(current, tombstone: true, hub: hub, at: now)
            }
            return ((), [TargetsEffect(ended)])
        }
        return expired.count
    }
}

extension Installation {
    /// The installation without one of its templates or tiles.
    fileprivate func without(_ part: InstallationPart) -> Installation {
        var rest = self
        switch (part.tile, part.template) {
        case (let tile?, let template?): rest.secondaryTiles[tile]?.templates[template] = nil
        case (let tile?, nil): rest.secondaryTiles[tile] = nil
        case (nil, let template?): rest.templates[template] = nil
        case (nil, nil): break
        }
        return rest
    }
}

// MARK: - Reading

extension Registrations {
    /// - Throws: 404 if it does not exist.
    func registration(_ id: RegistrationID) async throws -> StoredRegistration {
        guard
            let stored = try await hub.store.registration(hub: hub.record.id, id: id),
            stored.registration.platform != .stream
        else { throw ProtocolError.noRegistration }
        return stored
    }

    /// A page of registrations; those of platform `stream`, which no client of the protocol knows, are left out.
    ///
    /// `position` is `next` of the previous page. A page of a list by push channel may be short.
    ///
    /// - Throws: 400 for a position of another list, 401 for a device with reserved tags.
    func page(
        _ selection: RegistrationSelection,
        from position: String?,
        limit: Int
    ) async throws -> RegistrationPage {
        switch selection {
        case .all:
            guard position.map({ (try? RegistrationID($0)) != nil }) ?? true else { throw Self.foreignPosition }
            return try await hub.store.registrations(hub: hub.record.id, after: position, limit: limit)
        case .tag(let tag):
            let after = try Self.ordinal(position)
            let ordinals = try await hub.ask {
                $0.registry.registrations(taggedBy: tag, after: after, limit: limit + 1)
            }
            let page = Array(ordinals.prefix(limit))
            return RegistrationPage(
                registrations: try await hub.store.registrations(ordinals: page),
                next: ordinals.count > limit ? page.last.map { "\($0)" } : nil
            )
        case .handle(let filter, let grant):
            let after = try Self.ordinal(position)
            return try await hub.channelLists.pass {
                try await page(filter, after: after, limit: limit, grant: grant)
            }
        }
    }

    private func page(
        _ filter: HandleFilter,
        after: Ordinal,
        limit: Int,
        grant: Grant
    ) async throws -> RegistrationPage {
        let reserved = hub.configuration.reservedTags
        var found: [StoredRegistration] = []
        // All handles were searched up to this ordinal; `nil` if no handle has more registrations.
        var end: Ordinal?
        for handle in filter.handles {
            let page = try await hub.store.registrations(
                hub: hub.record.id,
                handle: handle,
                after: after,
                limit: limit
            ) {
                guard filter.matches($0.registration.pushChannel) else { return false }
                if !grant.mayManage, $0.carriesReservedTags(reserved) { throw ProtocolError.reservedList }
                return true
            }
            found += page.found
            if let next = page.next { end = min(end ?? next, next) }
        }
        found.removeAll { stored in end.map { stored.ordinal > $0 } ?? false }
        found.sort { $0.ordinal < $1.ordinal }
        let isCut = found.count > limit
        found.removeLast(max(0, found.count - limit))
        return RegistrationPage(registrations: found, next: (isCut ? found.last?.ordinal : end).map { "\($0)" })
    }

    /// Parses a position, which a client may have invented.
    private static func ordinal(_ position: String?) throws(ProtocolError) -> Ordinal {
        guard let ordinal = position.map({ Int64($0) }) ?? 0, (0..<Int64.max).contains(ordinal) else {
            throw foreignPosition
        }
        return Ordinal(rawValue: ordinal)
    }

    private static let foreignPosition = ProtocolError.badRequest(
        "The continuation token belongs to another list; begin again without it."
    )
}

extension ProtocolError {
    static let noRegistration = ProtocolError.notFound("Registration not found")
}
