import HubProtocol
import HubRouting
import HubStore
import Logging
import NIOCore
import PushServices
import Synchronization

/// Creates, changes and deletes hubs while the server runs.
final class HubManagement: Sendable {
    /// Maximum number of hubs of a server: each costs memory, and a check of its keys twice a second.
    static let maximumHubs = 1_000

    let served: ServedHubs
    let jobs: JobService
    /// The time of the last refusal that was checked against the log.
    let rechecked = Mutex<Duration?>(nil)

    init(_ served: ServedHubs, jobs: JobService) {
        self.served = served
        self.jobs = jobs
    }

    var directory: HubDirectory { served.directory }
    var store: HubStore { served.store }
    var configuration: HubConfiguration { served.configuration }

    /// Creates a hub, which accepts requests when this method returns.
    ///
    /// - Throws: 409 if a hub of this name exists, 403 if there are ``maximumHubs``, 400 for a credential that cannot
    ///   work.
    func create(_ name: HubName, _ change: NotificationHubChange, bytes: Int) async throws -> StoredHub {
        try check(change.newCredentials(besides: []))
        let at = configuration.timestamp
        let keys = BrowserKeys.missing(in: [], configuration)
        let hub = try await served.writer.perform(bytes: bytes) { transaction, _ in
            guard try !transaction.hasHub(named: name) else {
                throw ProtocolError.conflict("The hub '\(name)' already exists; send If-Match: * to update it.")
            }
            guard try transaction.hubCount() < Self.maximumHubs else {
                throw ProtocolError.forbidden(
                    "This server has the maximum of \(Self.maximumHubs) hubs; delete one first."
                )
            }
            var description = try change.applied(to: nil, at: at)
            if let keys { description.credentials.append(keys) }
            let stored = try transaction.insertHub(name, description, at: at)
            return (stored, [.created(stored, try transaction.extent())])
        }
        served.logger.notice("a hub was created", metadata: ["hub.name": "\(name)"])
        return hub
    }

    /// Changes a hub's description.
    ///
    /// When this method returns, rules are in force and streams of revoked keys have ended.
    ///
    /// - Throws: 404 if the hub was deleted meanwhile, 400 for a new credential that cannot work. One that is stored
    ///   already is not refused.
    func update(_ hub: Hub, _ change: NotificationHubChange, bytes: Int) async throws -> StoredHub {
        try check(change.newCredentials(besides: hub.status.credentials))
        return try await hub.changeDescription(bytes: bytes) { $0 = try change.applied(to: $0, at: $1) }
    }

    /// Checks credentials as far as that is possible without their push services.
    ///
    /// - Throws: 400 for a credential that cannot work.
    private func check(_ credentials: [PlatformCredential]) throws(ProtocolError) {
        for credential in credentials {
            // A missing property has an error of its own.
            try credential.validate()
            do throws(BadCredential) {
                try configuration.pushServices.check(credential)
            } catch {
                throw .badRequest("\(credential.kind.element) cannot be used: \(error)")
            }
        }
    }

    /// Deletes a hub: its streams end, and clients can no longer use it.
    ///
    /// Its rows are dropped step by step.
    ///
    /// - Throws: 404 if the hub was deleted meanwhile.
    func delete(_ hub: Hub) async throws {
        let at = configuration.timestamp
        try await served.writer.perform { transaction, _ in
            guard try transaction.hub(id: hub.record.id) != nil else { throw ProtocolError.noService }
            try transaction.deleteHub(id: hub.record.id, at: at)
            return ((), [.deleted(hub.record.id)])
        }
        served.logger.notice("a hub was deleted", metadata: ["hub.name": "\(hub.record.name)"])
    }
}

extension Hub {
    /// Changes the stored description.
    ///
    /// - Throws: 404 if the hub was deleted meanwhile; the errors of `change`.
    @discardableResult
    func changeDescription(
        bytes: Int = 0,
        _ change: @escaping @Sendable (inout NotificationHubDescription, _ at: Timestamp) throws -> Void
    ) async throws -> StoredHub {
        let (hub, at) = (record, configuration.timestamp)
        return try await perform(bytes: bytes) { transaction, _ in
            guard var stored = try transaction.hub(id: hub.id) else { throw ProtocolError.noHub(hub.name.text) }
            try change(&stored.description, at)
            stored.updatedAt = at
            try transaction.update(stored)
            return (stored, [PolicyEffect(stored.policy)])
        }
    }
}

extension ProtocolError {
    /// The response to a DELETE of a hub that does not exist (protocol §8).
    static let noService = ProtocolError.notFound("No service is hosted at the specified address.")
}
