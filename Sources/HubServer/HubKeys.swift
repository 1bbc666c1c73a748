package import HubProtocol
import HubStore

/// The access rules of a hub's file, for the operator; a hub may be serving from the file meanwhile.
package struct HubKeys: Sendable {
    /// A running hub has taken a rotated key over after this.
    package static let takeover = Housekeeping.rulesInterval * 2

    private let store: HubStore
    private let hub: HubRecord

    /// Opens the file of a hub that was started before.
    ///
    /// - Throws: ``HubKeysError/noHub`` when the file has no hub.
    package init(databasePath: String) async throws {
        store = try HubStore(path: databasePath)
        guard let hub = try await store.hubs().first else { throw HubKeysError.noHub(path: databasePath) }
        self.hub = hub
    }

    package var hubName: HubName { hub.name }

    package func rules() async throws -> [AccessRule] {
        try await store.accessRules(hub: hub.id)
    }

    /// Gives a rule a new primary key.
    ///
    /// The old one becomes its secondary key, so that clients can change over, and the old secondary key ends. Rotating
    /// twice ends both.
    ///
    /// A running hub takes it over within a second and ends the streams of a key that is gone.
    ///
    /// - Throws: ``HubKeysError/noRule`` when there is no such rule.
    package func rotate(_ name: String) async throws -> AccessRule {
        let rules = try await rules()
        guard let rule = rules.first(where: { $0.name == name }) else {
            throw HubKeysError.noRule(name, known: rules.map(\.name))
        }
        let rotated = AccessRule(
            name: rule.name,
            primaryKey: AccessRule.generatedKey(),
            secondaryKey: rule.primaryKey,
            rights: rule.rights
        )
        let hub = hub.id
        for result in try await store.commit([{ @Sendable in try $0.put(rotated, hub: hub) }]) { try result.get() }
        return rotated
    }
}

package enum HubKeysError: Error, CustomStringConvertible {
    case noHub(path: String)
    case noRule(String, known: [String])

    package var description: String {
        switch self {
        case .noHub(let path): "'\(path)' holds no hub yet; start it once with 'newswire hub'"
        case .noRule(let name, let known):
            "there is no rule '\(name)'; the hub has \(known.map { "'\($0)'" }.joined(separator: ", "))"
        }
    }
}
