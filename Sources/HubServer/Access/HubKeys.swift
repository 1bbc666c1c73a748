package import HubProtocol
import HubRouting
import HubStore

/// The access rules in a hub's file, for the operator; a hub may be serving from the file.
package struct HubKeys: Sendable {
    /// The owner of the rules.
    package enum Owner: Sendable, Equatable {
        case hub(HubName)
        case namespace
    }

    /// Time after which a running hub uses a rotated key.
    package static let takeover = Housekeeping.rulesInterval * 2

    private let store: HubStore
    private let hubs: [HubRecord]

    /// Opens the file of a hub that was started before.
    ///
    /// - Throws: ``HubKeysError/noHub`` if no hub has ever used the file.
    package init(databasePath: String) async throws {
        store = try HubStore(path: databasePath, signs: [GenerationFile.path(beside: databasePath)])
        hubs = try await store.hubs()
        let epochs = try await store.epochs()
        guard !hubs.isEmpty || !epochs.isEmpty else { throw HubKeysError.noHub(path: databasePath) }
    }

    /// The hubs in order of creation.
    package var hubNames: [HubName] { hubs.map(\.name) }

    /// - Throws: ``HubKeysError/unknownHub`` if there is no such hub.
    package func rules(of owner: Owner) async throws -> [AccessRule] {
        switch owner {
        case .hub(let name): try await store.accessRules(hub: record(name).id)
        case .namespace: try await store.namespaceRules()
        }
    }

    /// Gives a rule a new primary key.
    ///
    /// The old primary key becomes the secondary key, so that clients can change over, and the old secondary key is
    /// revoked. Rotating twice revokes both.
    ///
    /// A running hub uses the new key within a second, and ends the streams of a revoked key.
    ///
    /// - Throws: ``HubKeysError/noRule`` if there is no such rule; ``HubKeysError/severalNodes`` if other hubs share
    ///   the file's log.
    package func rotate(_ name: String, of owner: Owner, at now: Timestamp) async throws -> AccessRule {
        let rules = try await rules(of: owner)
        guard let rule = rules.first(where: { $0.name == name }) else {
            throw HubKeysError.noRule(name, known: rules.map(\.name))
        }
        let rotated = AccessRule(
            name: rule.name,
            primaryKey: AccessRule.generatedKey(),
            secondaryKey: rule.primaryKey,
            rights: rule.rights
        )
        let change: @Sendable (Transaction) throws -> Void
        switch owner {
        case .hub(let name):
            let hub = try record(name).id
            change = { try $0.put(rotated, hub: hub, at: now) }
        case .namespace: change = { try $0.putNamespaceRule(rotated, at: now) }
        }
        do {
            for result in try await store.commit([change]) { try result.get() }
        } catch HubStoreError.sharedLog {
            throw HubKeysError.severalNodes(name)
        }
        return rotated
    }

    private func record(_ name: HubName) throws(HubKeysError) -> HubRecord {
        guard let record = hubs.first(where: { $0.name == name }) else {
            throw .unknownHub(name, known: hubNames)
        }
        return record
    }
}

package enum HubKeysError: Error, CustomStringConvertible {
    case noHub(path: String)
    case unknownHub(HubName, known: [HubName])
    case noRule(String, known: [String])
    case severalNodes(String)

    package var description: String {
        switch self {
        case .noHub(let path): "'\(path)' contains no hub yet"
        case .unknownHub(let name, let known):
            known.isEmpty
                ? "there is no hub '\(name)', and no other hub"
                : "there is no hub '\(name)'; there are \(known.map { "'\($0)'" }.joined(separator: ", "))"
        case .noRule(let name, let known):
            "there is no rule '\(name)'; there are \(known.map { "'\($0)'" }.joined(separator: ", "))"
        case .severalNodes(let name):
            """
            cannot rotate the key of '\(name)' in this database, which follows the log of several hubs: add the rule \
            with its new key to the configuration of one hub and restart that hub, or update the hub's description \
            (PUT /HUB, If-Match: *)
            """
        }
    }
}
