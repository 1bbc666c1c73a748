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
    func admitChange() throws(ProtocolError) {
        try need(.listen)
        try directory.writeQuota.admit(grant, quotaKey)
    }

    /// - Throws: 400 for a number outside of a list's limits.
    static func check(_ count: Int?, named name: String, maximum: Int) throws(ProtocolError) {
        guard let count, !(1...maximum).contains(count) else { return }
        throw .badRequest("'\(name)' must be a number from 1 to \(maximum), not '\(count)'.")
    }
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
    /// - Parameters:
    ///   - publisher: The publisher's name, which is checked first.
    ///   - read: Reads the list, with its size in bytes.
    /// - Throws: 400 for a name that is not a tag, and for too many; the errors of `read`.
    func setCategories(
        publisher: String,
        _ read: () async throws -> (categories: [String], bytes: Int)
    ) async throws {
        try need(.send)
        try checkPublisher(publisher)
        let (categories, bytes) = try await read()
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

    /// Replaces the report of a publisher; see ``setCategories(publisher:_:)``.
    func setReport(
        publisher: String,
        _ read: () async throws -> (report: PublisherReport, bytes: Int)
    ) async throws {
        try need(.send)
        try checkPublisher(publisher)
        let (report, bytes) = try await read()
        let (key, at) = (hub.record.id, configuration.timestamp)
        try await hub.perform(bytes: bytes) { transaction, _ in
            try transaction.setReport(report, publisher: publisher, hub: key, at: at)
            return ((), [ReportEffect()])
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

    /// The requests of operators to a publisher in the last 7 days, which the publisher reads.
    func requests(to publisher: String) async throws -> PublisherRequests {
        try need(.send)
        try checkPublisher(publisher)
        return PublisherRequests(
            requests: try await hub.store.requests(hub: hub.record.id, publisher: publisher, since: oldestReport)
        )
    }

    /// Asks something of a publisher; see ``setCategories(publisher:_:)``.
    ///
    /// - Throws: 404 for a publisher without a report that has not expired.
    func ask(
        _ publisher: String,
        _ read: () async throws -> (request: PublisherRequest, bytes: Int)
    ) async throws -> PublisherRequest {
        _ = try await self.publisher(publisher)
        let (request, bytes) = try await read()
        let (key, at) = (hub.record.id, configuration.timestamp)
        return try await hub.perform(bytes: bytes) { transaction, _ in
            (try transaction.add(request, publisher: publisher, hub: key, at: at), [])
        }
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
