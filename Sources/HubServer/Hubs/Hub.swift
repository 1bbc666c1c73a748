import Crypto
import Foundation
import HubProtocol
import HubStore
import Logging
import NIOCore
import Synchronization

/// One notification hub: what it knows in memory and what it does with it.
///
/// Every change goes through the writer, so that what is visible was committed and everything has one order.
final class Hub: Sendable {
    struct State: Sendable {
        var registry: Registry
        var broadcast: Broadcast
        var rules: AccessRules
        /// Counts the changes of ``rules``.
        var rulesChanges = 0
        /// How long a registration lives after its last write; `nil` for ever.
        var registrationLifetime: Duration?
        /// Somebody has disabled the hub: it refuses registrations and messages.
        var isDisabled: Bool
        /// Everything up to this sequence was told to the streams.
        var head: Int64
        var headChanged = false
        /// No message has a higher sequence.
        var lastMessage: Int64
        var droppedThrough: Int64
        /// The hub stops: no more streams.
        var isStopping = false
        /// How far streams are, to be noted in the store with the next batch.
        var progress: [Int64: StreamProgress] = [:]
        /// What waits for its time.
        var scheduled = ScheduledLoad.none
        /// Messages whose count in the store is to be corrected with the next batch.
        var recounted: [Int64: RecipientCounts] = [:]
        var hasSaidOversize = false
        var hasSaidUnreadable = false
    }

    let record: HubRecord
    let store: HubStore
    let writer: HubChanges
    let epochs: EpochHistory
    let encoding: EventEncoding
    let configuration: HubConfiguration
    let logger: Logger
    let state: Mutex<State>
    let counters = HubCounters()
    /// Requests for the outcomes of messages: each may look at all that the hub has.
    let inquiries = RequestTurns("inquiries about messages")
    /// Lists of registrations by push channel: each may look at a thousand rows.
    let channelLists = RequestTurns("lists of registrations by push channel", atOnce: 4)
    /// How long a registration lives after its last write; `nil` for ever.
    var registrationLifetime: Duration? { state.withLock { $0.registrationLifetime } }

    /// Makes a hub without its `stream` installations and scheduled messages.
    init(
        stored: StoredHub,
        namespaceRules: [AccessRule],
        store: HubStore,
        writer: HubWriter,
        epochs: EpochHistory,
        extent: LogExtent,
        registry: consuming Registry,
        configuration: HubConfiguration,
        logger: Logger
    ) {
        record = stored.record
        self.store = store
        self.writer = HubChanges(writer, hub: stored.record.name)
        self.epochs = epochs
        self.configuration = configuration
        self.logger = logger
        encoding = EventEncoding(epoch: epochs.current)
        registry.finishLoading()
        let broadcast = Broadcast(
            loops: configuration.eventLoops,
            reserved: configuration.reservedTags,
            encoding: encoding
        )
        state = Mutex(
            State(
                registry: registry,
                broadcast: broadcast,
                rules: AccessRules(hub: stored.rules, namespace: namespaceRules),
                registrationLifetime: stored.description.registrationTimeToLive.duration,
                isDisabled: stored.description.isDisabled ?? false,
                head: extent.top,
                lastMessage: extent.top,
                droppedThrough: extent.droppedThrough
            )
        )
    }

    /// Reads the `stream` installations that the store has, and what waits for its time.
    func load() async throws {
        let scheduled = try await store.scheduledLoad(hub: record.id)
        state.withLock { $0.scheduled = scheduled }
        try await store.forEachStream(hub: record.id) { stored in
            do {
                guard stored.isReadable else { throw HubStoreError.unreadableRecord }
                guard let entry = try Registry.Entry(stored) else { return }
                self.state.withLock { $0.registry.put(entry) }
            } catch {
                self.logger.error(
                    "an installation cannot be read and gets nothing until it registers again",
                    metadata: ["installation.id": "\(stored.installation.id)", "error.reason": "\(error)"]
                )
            }
        }
    }

    var accessRules: AccessRules { state.withLock { $0.rules } }
    var isDisabled: Bool { state.withLock { $0.isDisabled } }
    /// Its own.
    var rules: [AccessRule] { accessRules.hub }
}

// MARK: - Installations

/// What the writer did with an installation.
struct RegistryChange: Sendable {
    let write: InstallationWrite
    /// `nil` when it is not of platform `stream`.
    let entry: Registry.Entry?
    /// Its stream was opened with a secret that is no longer good.
    let endsStream: Bool
    /// Registrations that it has taken the place of.
    var replaced: [TargetChange] = []
}

extension Hub {
    /// Stores an installation in the place of what stands under its id.
    ///
    /// `channel` is the secret that the request presents, for a `stream` installation that is there; `bytes` is the size
    /// of its body. Registrations with the installation's own tag that were registered by themselves end: an export
    /// has written them of this very installation at another hub, and its device shall get everything once.
    ///
    /// - Throws: 409 when the id is a `stream` installation's and neither the secret nor Manage was presented; 401 when
    ///   a reserved tag would change without Manage.
    func put(_ installation: Installation, bytes: Int, grant: Grant, channel: PushChannelSecret?) async throws {
        let others = installation.platform == .stream ? [] : registrations(of: installation.id)
        try await change(installation.id, bytes: bytes, grant, replacing: others) { current in
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
    /// - Throws: 404 when it is not there, or not for this caller.
    func patch(
        _ id: InstallationID,
        _ patch: InstallationPatch,
        bytes: Int,
        grant: Grant,
        channel: PushChannelSecret?
    ) async throws {
        let maximumTags = configuration.maximumTags
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
        replacing others: [Int64] = [],
        wanted: @escaping @Sendable (StoredInstallation?) throws -> (Installation, removed: [Tag])
    ) async throws {
        let hub = record.id
        let at = configuration.nowMilliseconds
        let (reserved, maximumTags) = (configuration.reservedTags, configuration.maximumTags)
        _ = try await writer.perform(bytes: bytes) { transaction -> RegistryChange in
            let current = try transaction.installation(hub: hub, id: id)
            var (installation, removed) = try wanted(current)
            installation.addTemplateNameTags()
            if !grant.mayManage {
                try installation.keepReservedTags(
                    of: current,
                    reserved,
                    removed: removed,
                    maximumTags: maximumTags
                )
            }
            var change = try self.write(
                installation,
                replacing: current,
                isCharged: !grant.mayManage,
                at: at,
                transaction
            )
            if !grant.mayManage { try self.checkQuota(change.write.changes) }
            change.replaced = try transaction.end(ordinals: others, tagged: .installation(id), hub: hub, at: at)
            return change
        } apply: { change in
            self.apply(change)
        }
    }

    /// Most registrations that one installation takes the place of.
    private static let maximumReplaced = 1_000

    /// The ordinals of all registrations that carry an installation's own tag.
    private func registrations(of id: InstallationID) -> [Int64] {
        state.withLock {
            $0.registry.registrations(taggedBy: .installation(id), after: 0, limit: Self.maximumReplaced)
        }
    }

    /// - Throws: 403 when the changes of a bearer of Listen go beyond what the hub takes.
    func checkQuota(_ changes: [TargetChange]) throws {
        let usage = state.withLock { $0.registry.listenUsage }
        for change in changes { try configuration.listenQuota.check(change, usage) }
    }

    /// Stores an installation that was checked; `deleted` is the registration of it whose deletion this is, `isCharged`
    /// says that a bearer of Listen writes it.
    func write(
        _ installation: Installation,
        replacing current: StoredInstallation?,
        isCharged: Bool,
        at: Int64,
        deleted: RegistrationID? = nil,
        _ transaction: Transaction
    ) throws -> RegistryChange {
        let digest = try installation.streamChannelDigest(keeping: current)
        let hub = record.id
        let write =
            if let current {
                try transaction.update(
                    current,
                    to: installation,
                    channelDigest: digest,
                    isCharged: isCharged,
                    hub: hub,
                    at: at,
                    deleted: deleted
                )
            } else {
                try transaction.insert(
                    installation,
                    channelDigest: digest,
                    isCharged: isCharged,
                    hub: hub,
                    at: at
                )
            }
        return RegistryChange(
            write: write,
            entry: try Registry.Entry(write.stored),
            endsStream: current.map { $0.channelDigest != digest } ?? false
        )
    }

    func apply(_ change: RegistryChange) {
        let ordinal = change.write.stored.ordinal
        state.withLock { state in
            state.registry.apply(change.write.changes)
            if !change.replaced.isEmpty { state.registry.apply(change.replaced) }
            if let entry = change.entry { state.registry.put(entry) } else { state.registry.remove(stream: ordinal) }
            if change.endsStream { state.broadcast.end(ordinal, .revoked) }
            guard let sequence = change.write.sequence else { return }
            if let entry = change.entry { state.broadcast.move(entry, at: sequence) }
            state.advance(to: sequence)
        }
    }

    /// Reads an installation.
    ///
    /// - Throws: 404 when it is not there, or not for this caller.
    func installation(_ id: InstallationID, grant: Grant, channel: PushChannelSecret?) async throws -> Installation {
        guard
            let stored = try await store.installation(hub: record.id, id: id),
            stored.isReadable, stored.isOpen(to: grant, channel: channel)
        else { throw ProtocolError.noInstallation }
        return stored.installation
    }

    /// Removes an installation, ends its stream and what it is owed; one that is not there is not an error.
    ///
    /// Registrations that an import has brought of it go with it.
    ///
    /// - Throws: 404 when it is a `stream` installation that is not for this caller.
    func delete(_ id: InstallationID, grant: Grant, channel: PushChannelSecret?) async throws {
        try await remove([id], with: registrations(of: id)) { current in
            guard current.isOpen(to: grant, channel: channel) else { throw ProtocolError.noInstallation }
            return true
        }
    }

    /// Removes installations whose own time has come, by a clock that can be trusted, at most `limit` of them.
    ///
    /// - Returns: How many were found.
    func removeExpired(at now: Int64, limit: Int) async throws -> Int {
        let expired = try await store.expiredInstallations(hub: record.id, at: now, limit: limit)
        guard !expired.isEmpty else { return 0 }
        // It may be good for longer by now.
        try await remove(expired) { $0.expiresAt.map { $0 <= now } ?? false }
        return expired.count
    }

    /// `others` are registrations that end if they carry the tag of one of the installations.
    private func remove(
        _ ids: [InstallationID],
        with others: [Int64] = [],
        where isMeant: @escaping @Sendable (StoredInstallation) throws -> Bool
    ) async throws {
        let hub = record.id
        let at = configuration.nowMilliseconds
        _ = try await writer.perform(bytes: 0) { transaction -> ([InstallationRemoval], [TargetChange]) in
            let removed = try ids.compactMap { id -> InstallationRemoval? in
                guard let current = try transaction.installation(hub: hub, id: id), try isMeant(current) else {
                    return nil
                }
                return try InstallationRemoval(of: current, from: hub, at: at, transaction)
            }
            let ended = try ids.flatMap {
                try transaction.end(ordinals: others, tagged: .installation($0), hub: hub, at: at)
            }
            return (removed, ended)
        } apply: { removed, ended in
            for removal in removed { self.apply(removal) }
            if !ended.isEmpty { self.apply(ended) }
        }
    }
}

/// What the writer did to remove an installation.
struct InstallationRemoval: Sendable {
    private let ordinal: Int64
    private let sequence: Int64
    private let changes: [TargetChange]

    /// `deleted` is the registration whose deletion this is.
    init(
        of current: StoredInstallation,
        from hub: Int64,
        at: Int64,
        deleted: RegistrationID? = nil,
        _ transaction: Transaction
    ) throws {
        ordinal = current.ordinal
        (sequence, changes) = try transaction.delete(current, hub: hub, at: at, deleted: deleted)
    }

    fileprivate func apply(to state: inout Hub.State) {
        state.registry.remove(stream: ordinal)
        state.registry.apply(changes)
        state.broadcast.end(ordinal, .revoked)
        state.advance(to: sequence)
    }
}

extension Hub {
    func apply(_ removal: InstallationRemoval) {
        state.withLock { removal.apply(to: &$0) }
    }
}

extension Registry.Entry {
    /// `nil` for an installation that is not of platform `stream`.
    init?(_ stored: StoredInstallation) throws {
        guard let digest = stored.channelDigest else { return nil }
        self.init(
            ordinal: stored.ordinal,
            id: stored.installation.id,
            channelDigest: digest,
            createdSequence: stored.createdSequence,
            recipient: try Recipient(stored.installation)
        )
    }
}

extension ProtocolError {
    static let noInstallation = ProtocolError.notFound("Installation not found")
}

extension StoredInstallation {
    /// When it goes by itself, in milliseconds since 1970; `nil` for never.
    var expiresAt: Int64? {
        installation.expirationTime.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
    }

    /// Whether a caller may see and change this installation: a `stream` installation wants its secret or Manage, for
    /// the others the id is the protection, as in the original.
    func isOpen(to grant: Grant, channel: PushChannelSecret?) -> Bool {
        if grant.mayManage || installation.platform != .stream { return true }
        guard let channel, let channelDigest else { return false }
        return channel.matches(digest: channelDigest)
    }
}

extension Installation {
    /// The hash of a `stream` installation's secret; a change that names none keeps the one that is there.
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

extension Hub.State {
    mutating func advance(to sequence: Int64) {
        head = max(head, sequence)
        headChanged = true
    }
}

// MARK: - Categories

extension Hub {
    /// Replaces the set of categories that a publisher announces.
    func setCategories(_ names: [String], publisher: String, bytes: Int) async throws {
        let hub = record.id
        try await writer.perform(bytes: bytes) { transaction in
            try transaction.setCategories(names, publisher: publisher, hub: hub)
        } apply: { _ in
        }
    }

    /// All announced categories after the six standard ones, each once.
    func categories() async throws -> [String] {
        var seen: Set<String> = []
        let announced = try await store.categories(hub: record.id)
        return (CategoryList.standard + announced).filter { seen.insert((try? Tag($0))?.folded ?? $0).inserted }
    }
}
