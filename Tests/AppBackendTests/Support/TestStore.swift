import Foundation
import HubStore
import SQLiteFiles

@testable import AppBackend
@testable import HubServer

/// The store of a test: a file, or with `NEWSWIRE_TEST_NODES` the tables of a hub.
///
/// The hub runs each change twice, and refuses statements that would have another result at another node.
enum TestStore {
    static let isInHub = ProcessInfo.processInfo.environment["NEWSWIRE_TEST_NODES"] != nil

    static func open(_ path: String) throws -> BackendStore {
        guard isInHub else { return try BackendStore(path: path) }
        let hub = try HubStore(path: path, rehearses: true)
        return BackendStore(
            in: StartTables(store: hub, secrets: SecretBox(key: Array(repeating: 1, count: SecretBox.keyBytes)))
        )
    }
}
