import FairShares
import HubProtocol
import HubRouting
import HubStore
import NetworkAddresses
import PushServices
import Signals

/// The operations of one hub for one caller: they check its rights and quotas.
///
/// A route reads the values of an operation from a request, and writes its answer. ``LocalHub`` calls the same operations
/// for this process.
struct HubOperations: Sendable {
    let hub: Hub
    let directory: HubDirectory
    /// The caller's permissions.
    let grant: Grant
    /// The caller's address, as quotas count it; `nil` if it is unknown, or for this process.
    let source: NetworkAddress?

    /// The key under which quotas count the caller.
    var quotaKey: QuotaKey { QuotaKey(hub: hub.record.id, credential: grant.credential, address: source) }

    var configuration: HubConfiguration { hub.configuration }

    /// - Throws: 401 if the caller lacks the right.
    func need(_ right: AccessRights) throws(ProtocolError) {
        guard grant.rights.grants(right) else { throw .unauthorized(.claimRequired(right)) }
    }

    /// Counts a change of an installation or registration; called before the body of a request is read.
    ///
    /// - Throws: 401 without Listen, 429 for too many changes.
    private func admitChange() throws(ProtocolError) {
        try need(.listen)
        try directory.writeQuota.admit(grant, quotaKey)
    }
}

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

    /// - Throws: 400 for a number outside of a list's limits.
    static func check(_ count: Int?, named name: String, maximum: Int) throws(ProtocolError) {
        guard let count, !(1...maximum).contains(count) else { return }
        throw .badRequest("'\(name)' must be a number from 1 to \(maximum), not '\(count)'.")
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

// MARK: - Messages

extension HubOperations {
    /// Reads a message in the form of a request.
    ///
    /// - Throws: 400 or 413.
    func message(
        _ kind: SendRequest.Kind,
        headers: [(name: String, value: String)],
        query: String,
        body: [UInt8]
    ) throws(ProtocolError) -> IncomingMessage {
        IncomingMessage(
            try SendRequest(
                kind,
                headers: headers,
                query: query,
                body: body,
                now: configuration.now(),
                expressionLimits: configuration.expressionLimits
            )
        )
    }

    /// Accepts a message that is sent at once or scheduled.
    func accept(_ message: IncomingMessage) async throws -> MessageID {
        try need(.send)
        return try await hub.messages.accept(message)
    }

    /// Makes a test send.
    ///
    /// - Throws: 429 for too many test sends; the errors of ``TestSends/answer(to:_:)``.
    func test(_ message: IncomingMessage) async throws -> TestSends.Answer {
        try need(.send)
        if let wait = hub.testSends.rate.admit(hub.record.id) {
            throw ProtocolError.tooManyRequests(
                "A hub accepts \(TestSends.limit.burst) test sends a minute; each calls push services immediately.",
                wait: wait
            )
        }
        return try await hub.testSends.answer(to: message, lookup)
    }

    func cancel(_ id: MessageID) async throws {
        try need(.send)
        try await hub.scheduled.cancel(id)
    }

    func details(of id: MessageID) async throws -> (details: NotificationDetails, hasFailures: Bool) {
        try need(.send)
        return try await lookup.details(id)
    }

    func recipients(of query: RecipientQuery) async throws -> RecipientCounts {
        try need(.send)
        return try await hub.recipients(of: try expression(query.tags), query.format ?? .template)
    }

    private func expression(_ tags: String) throws(ProtocolError) -> TagExpression? {
        guard !tags.allSatisfy(\.isWhitespace) else { return nil }
        do {
            return try TagExpression(parsing: tags, limits: configuration.expressionLimits)
        } catch {
            throw error.protocolError
        }
    }

    private var lookup: DeliveryLookup { DeliveryLookup(hub: hub, loops: directory.loops(of: hub)) }
}

// MARK: - Reports of messages

extension HubOperations {
    /// Reports the outcome of a message, and why a device got it or not.
    ///
    /// - Throws: 400 for a device that is neither an installation's id nor a push handle; 404 for an unknown message.
    func report(on id: MessageID, device: String?) async throws -> MessageReport {
        try need(.manage)
        if let device {
            let isName = device.utf8.count <= PushChannel.maximumLength && device.utf8.allSatisfy { $0 > 0x20 }
            guard !device.isEmpty, isName else {
                throw ProtocolError.badRequest(
                    "'device' must be an installation's id or a push handle; neither contains a space."
                )
            }
        }
        return try await lookup.report(id, device: device)
    }

    func failures(of id: MessageID, from start: String?, count: Int?) async throws -> FailedTargets {
        try need(.manage)
        try Self.check(count, named: "last", maximum: FailedTargets.maximumListed)
        let limit = count ?? FailedTargets.maximumListed
        return try await FailureLookup(hub: hub).page(id, from: start, limit: limit)
    }

    /// A list of messages.
    func messages(_ selection: MessageSelection, count: Int?) async throws -> [MessageReport] {
        try need(.manage)
        try Self.check(count, named: "last", maximum: DeliveryLookup.maximumListed)
        let count = count ?? MessageSelection.usualCount
        return switch selection {
        case .newest: try await lookup.newest(count)
        case .before(let place): try await lookup.sent(count, before: place)
        case .scheduled: try await lookup.scheduled(count)
        }
    }
}

/// The messages of a list.
enum MessageSelection: Sendable {
    /// The number of messages of a list that names none.
    static let usualCount = 20

    /// The newest messages, after as many scheduled ones.
    case newest
    /// The newest ones before a position in the log.
    case before(LogSequence)
    case scheduled
}

// MARK: - The hub

extension HubOperations {
    func overview() async throws -> HubOverview {
        try need(.manage)
        return try await OverviewLookup(hub: hub, directory: directory).overview()
    }

    func categories() async throws -> [String] {
        try need(.listen)
        return try await hub.categories()
    }

    /// Maximum number of categories of one publisher.
    private static let maximumCategories = 1_000

    /// Replaces the set of categories that a publisher announces.
    ///
    /// `bytes` is the size of the list.
    ///
    /// - Throws: 400 for a name that is not a tag, and for too many.
    func setCategories(_ categories: [String], publisher: String, bytes: Int) async throws {
        try need(.send)
        try checkPublisher(publisher)
        guard categories.count <= Self.maximumCategories else {
            throw ProtocolError.badRequest("A publisher has at most \(Self.maximumCategories) categories.")
        }
        for name in categories { _ = try Tag(name) }
        try await hub.setCategories(categories, publisher: publisher, bytes: bytes)
    }

    /// Reports the state of the credentials; with `asking`, each push service is asked.
    ///
    /// - Throws: 429 for too many tests.
    func credentials(asking: Bool) async throws -> CredentialReport {
        try need(.manage)
        guard asking else { return CredentialLookup(hub: hub).report() }
        if let wait = hub.testSends.rate.admit(hub.record.id) {
            throw ProtocolError.tooManyRequests("Test sends and tests of credentials are too frequent.", wait: wait)
        }
        return await CredentialLookup(hub: hub).test()
    }

    /// The key that browsers subscribe with.
    ///
    /// - Throws: 404 if the hub does not deliver to browsers.
    func browserKey() throws(ProtocolError) -> BrowserKeyReport {
        try need(.listen)
        // Browsers would subscribe with a key of which they never get a message.
        if case .unusable(let reason) = BrowserKeys.delivery(of: hub) {
            throw ProtocolError.notFound("The hub's credential for browsers cannot be used: \(reason)")
        }
        guard let key = BrowserKeys.publicKey(of: hub) else {
            throw ProtocolError.notFound("The hub has no key for browsers: it does not deliver to them.")
        }
        return BrowserKeyReport(keyID: VapidKeyID.of(publicKey: key), publicKey: Base64URL.encode(key))
    }

    /// Makes a new key for browsers.
    ///
    /// - Throws: 409 if the hub has a credential with a key.
    func rotateBrowserKey() async throws {
        try need(.manage)
        let credentials = configuration.pushServices.standing + hub.status.credentials
        guard !credentials.contains(where: { $0.kind == .browser }) else {
            throw ProtocolError.conflict("The hub has a BrowserCredential; change the key there.")
        }
        try await BrowserKeys.rotate(hub)
    }
}

// MARK: - Publishers

extension HubOperations {
    /// Maximum number of characters in a publisher's name.
    private static let maximumName = 120

    /// Replaces the report of a publisher; `bytes` is its size.
    func setReport(_ report: PublisherReport, publisher: String, bytes: Int) async throws {
        try need(.send)
        try checkPublisher(publisher)
        let (key, at) = (hub.record.id, configuration.timestamp)
        try await hub.perform(bytes: bytes) { transaction, _ in
            try transaction.setReport(report, publisher: publisher, hub: key, at: at)
            return ((), [.report])
        }
    }

    /// The publishers whose report has not expired.
    func publishers() async throws -> [PublisherSummary] {
        try need(.manage)
        return try await hub.store.publishers(hub: hub.record.id, since: oldestReport)
    }

    /// - Throws: 404 for a publisher without a report that has not expired.
    func publisher(_ name: String) async throws -> PublisherStatus {
        try need(.manage)
        try checkPublisher(name)
        guard let status = try await hub.store.report(hub: hub.record.id, publisher: name, since: oldestReport) else {
            throw ProtocolError.notFound("No publisher of this name has reported in the last 7 days.")
        }
        return status
    }

    private var oldestReport: Timestamp { configuration.timestamp - PublisherReport.lifetime }

    /// - Throws: 400 for a name that cannot be stored.
    private func checkPublisher(_ name: String) throws(ProtocolError) {
        guard (1...Self.maximumName).contains(name.unicodeScalars.count),
            // SQLite would end the name at a NUL, and take it for another publisher's name.
            name.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
        else {
            throw .badRequest(
                "A publisher's name has 1 to \(Self.maximumName) characters, none of them a control character."
            )
        }
    }
}

// MARK: - Alarms

extension HubOperations {
    func alarms() async throws -> AlarmList {
        try need(.manage)
        if hub.store.node != nil { try await hub.alarms.turns.pass { try await hub.followAlarms() } }
        var list = hub.alarms.record.list(at: configuration.timestamp)
        list.tag = configuration.alarmTag?.text
        return list
    }

    func silence(alarm id: String, until end: Timestamp?) async throws {
        try need(.manage)
        try await hub.silence(alarm: id, until: end)
    }

    func endSilence(alarm id: String) async throws {
        try need(.manage)
        try await hub.endSilence(alarm: id)
    }
}
