import Foundation
import HubProtocol
import HubStore
import Synchronization

/// Which registrations a list is of.
enum RegistrationSelection: Sendable {
    case all
    case tag(Tag)
    /// Listen must not find a device with reserved tags by its push channel.
    case handle(HandleFilter, Grant)

    var isOfTag: Bool { if case .tag = self { true } else { false } }
}

// MARK: - Writing

extension Hub {
    /// Stores a registration, new or in the place of one of the same id.
    ///
    /// - Parameters:
    ///   - registration: Its ETag and expiration time are the hub's to say.
    ///   - condition: What must stand there.
    ///   - bytes: The size of the request's body.
    ///   - grant: Whether reserved tags may change.
    /// - Returns: What is stored.
    /// - Throws: 404 and 412 when the condition does not hold, 410 for an id that has ended by itself and for one that is
    ///   an installation's, 401 when a reserved tag would change without Manage.
    func put(
        _ registration: Registration,
        if condition: ETagCondition,
        bytes: Int,
        grant: Grant
    ) async throws -> StoredRegistration {
        let at = configuration.nowMilliseconds
        return try await writer.perform(bytes: bytes) { transaction in
            try self.stage(registration, if: condition, mayManage: grant.mayManage, at: at, transaction)
        } apply: { _, change in
            self.apply([change])
        }.0
    }

    /// As ``put(_:if:bytes:grant:)``, inside a transaction.
    ///
    /// - Parameters:
    ///   - registration: Its ETag is the hub's to say.
    ///   - condition: What must stand there.
    ///   - mayManage: Whether reserved tags may change.
    ///   - isImport: An operator wants it as it is: its own expiration time, if it has one, counts before the hub's, and
    ///     an id that has ended may be used again.
    ///   - at: Milliseconds since 1970.
    ///   - transaction: The writer's.
    /// - Returns: What is stored, and what becomes of the target after the commit.
    /// - Throws: Refusals; what was written before one is undone with the caller's transaction or savepoint.
    func stage(
        _ registration: Registration,
        if condition: ETagCondition,
        mayManage: Bool,
        isImport: Bool = false,
        at: Int64,
        _ transaction: Transaction
    ) throws -> (StoredRegistration, TargetChange) {
        let hub = record.id
        let current = try transaction.registration(hub: hub, id: registration.id)
        // The SDKs of devices ask for a new id after 410, and after nothing else.
        if let installation = current?.installation {
            throw ProtocolError.gone(
                """
                The registration '\(registration.id)' is a part of the installation '\(installation.id)'; ask for a \
                new registration id and use that, or change the installation with PUT or PATCH of \
                /installations/\(installation.id).
                """
            )
        }
        let hasEnded = try current == nil && transaction.hasEnded(hub: hub, id: registration.id)
        if hasEnded, !isImport {
            throw ProtocolError.gone(
                """
                The registration '\(registration.id)' has expired, went with its installation, or its push handle was \
                refused by the push service; ask for a new registration id and use that.
                """
            )
        }
        try condition.check(current?.registration.etag)
        var wanted = registration
        if !mayManage { try wanted.keepReservedTags(of: current?.registration, configuration.reservedTags) }
        if !isImport || wanted.expirationTime == nil {
            wanted.expirationTime = registrationLifetime.map {
                Date(timeIntervalSince1970: Double(at + $0.milliseconds) / 1000)
            }
        }
        if hasEnded { try transaction.revive(registration.id, hub: hub) }
        let written = try transaction.put(wanted, replacing: current, isCharged: !mayManage, hub: hub, at: at)
        if !mayManage { try checkQuota([written.change]) }
        return written
    }

    /// Takes over what became of registrations, in the order of the log.
    func apply(_ changes: [TargetChange]) {
        state.withLock { $0.registry.apply(changes) }
    }

    /// Removes a registration.
    ///
    /// One that an installation stands for goes with what it is of it: the template, the tile, or, the native one, the
    /// installation. One that has gone so before, or has expired, is no error: clients delete one by one what they have
    /// listed.
    ///
    /// - Throws: 404 when it is not there, 412 when the condition does not hold.
    func delete(_ id: RegistrationID, if condition: ETagCondition) async throws {
        let at = configuration.nowMilliseconds
        _ = try await writer.perform(bytes: 0) { transaction in
            try self.stageDeletion(of: id, if: condition, at: at, transaction)
        } apply: { removal in
            self.apply(removal)
        }
    }

    /// As ``delete(_:if:)``, inside a transaction.
    func stageDeletion(
        of id: RegistrationID,
        if condition: ETagCondition,
        at: Int64,
        _ transaction: Transaction
    ) throws -> RegistrationRemoval {
        let hub = record.id
        guard
            let current = try transaction.registration(hub: hub, id: id),
            current.registration.platform != .stream
        else {
            guard try transaction.hasEnded(hub: hub, id: id) else { throw ProtocolError.noRegistration }
            return RegistrationRemoval(registration: nil, kind: .none)
        }
        try condition.check(current.registration.etag)
        guard let (installationID, part) = current.installation else {
            let change = try transaction.delete(current, tombstone: false, hub: hub, at: at)
            return RegistrationRemoval(registration: current.registration, kind: .single(change))
        }
        guard let installation = try transaction.installation(hub: hub, id: installationID) else {
            throw ProtocolError.noRegistration
        }
        if part == .main {
            let removal = try InstallationRemoval(of: installation, from: hub, at: at, deleted: id, transaction)
            return RegistrationRemoval(registration: current.registration, kind: .installation(removal))
        }
        let rest = installation.installation.without(part)
        let isCharged = try transaction.charge(ofInstallation: installation.ordinal) > 0
        let change = try write(
            rest,
            replacing: installation,
            isCharged: isCharged,
            at: at,
            deleted: id,
            transaction
        )
        return RegistrationRemoval(registration: current.registration, kind: .part(change))
    }

    func apply(_ removal: RegistrationRemoval) {
        switch removal.kind {
        case .single(let change): apply([change])
        case .installation(let removal): apply(removal)
        case .part(let change): apply(change)
        case .none: break
        }
    }

    /// Ends registrations whose time has come, by a clock that can be trusted, at most `limit` of them.
    ///
    /// - Returns: How many were found.
    func endExpiredRegistrations(at now: Int64, limit: Int) async throws -> Int {
        let hub = record.id
        let expired = try await store.expiredRegistrations(hub: hub, at: now, limit: limit)
        guard !expired.isEmpty else { return 0 }
        _ = try await writer.perform(bytes: 0) { transaction -> [TargetChange] in
            try expired.compactMap { id in
                // It may have been renewed by now.
                guard
                    let current = try transaction.registration(hub: hub, id: id),
                    let expiration = current.registration.expirationTime, expiration.milliseconds <= now
                else { return nil }
                return try transaction.delete(current, tombstone: true, hub: hub, at: now)
            }
        } apply: { changes in
            self.apply(changes)
        }
        return expired.count
    }
}

/// What the writer did to remove a registration.
struct RegistrationRemoval: Sendable {
    fileprivate enum Kind: Sendable {
        case single(TargetChange)
        case installation(InstallationRemoval)
        case part(RegistryChange)
        /// It had ended before.
        case none
    }

    /// As it was; `nil` for one that had ended before.
    let registration: Registration?
    fileprivate let kind: Kind
}

extension Installation {
    /// The installation without a template, or a tile, of it.
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

extension Hub {
    /// - Throws: 404 when it is not there.
    func registration(_ id: RegistrationID) async throws -> StoredRegistration {
        guard
            let stored = try await store.registration(hub: record.id, id: id), stored.registration.platform != .stream
        else { throw ProtocolError.noRegistration }
        return stored
    }

    /// A page of registrations; those of platform `stream`, which no client of the protocol knows, are left out.
    ///
    /// - Parameters:
    ///   - selection: Which ones.
    ///   - position: The `next` of the page before, `nil` for the first one.
    ///   - limit: The most of one page.
    /// - Returns: The page, with the position of the next one; a page of a list by push channel may be short.
    /// - Throws: 400 for a position that is of another list, 401 for a device with reserved tags.
    func registrations(
        _ selection: RegistrationSelection,
        from position: String?,
        limit: Int
    ) async throws -> RegistrationPage {
        switch selection {
        case .all:
            guard position.map({ (try? RegistrationID($0)) != nil }) ?? true else { throw Self.strangePosition }
            return try await store.registrations(hub: record.id, after: position, limit: limit)
        case .tag(let tag):
            let after = try Self.ordinal(position)
            let ordinals = state.withLock {
                $0.registry.registrations(taggedBy: tag, after: after, limit: limit + 1)
            }
            let page = Array(ordinals.prefix(limit))
            return RegistrationPage(
                registrations: try await store.registrations(ordinals: page),
                next: ordinals.count > limit ? page.last.map { "\($0)" } : nil
            )
        case .handle(let filter, let grant):
            let after = try Self.ordinal(position)
            return try await channelLists.pass {
                try await registrations(filter, after: after, limit: limit, grant: grant)
            }
        }
    }

    private func registrations(
        _ filter: HandleFilter,
        after: Int64,
        limit: Int,
        grant: Grant
    ) async throws -> RegistrationPage {
        let reserved = configuration.reservedTags
        var found: [StoredRegistration] = []
        // All handles were looked at up to here; `nil` when nothing is left of any.
        var end: Int64?
        for handle in filter.handles {
            let page = try await store.registrations(hub: record.id, handle: handle, after: after, limit: limit) {
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

    /// A position is a stranger's text: what was never an ordinal is no place to go on behind.
    private static func ordinal(_ position: String?) throws(ProtocolError) -> Int64 {
        guard let ordinal = position.map({ Int64($0) }) ?? 0, (0..<Int64.max).contains(ordinal) else {
            throw strangePosition
        }
        return ordinal
    }

    private static let strangePosition = ProtocolError.badRequest(
        "The continuation token is of another list; begin again without it."
    )
}

extension ProtocolError {
    static let noRegistration = ProtocolError.notFound("Registration not found")
}
