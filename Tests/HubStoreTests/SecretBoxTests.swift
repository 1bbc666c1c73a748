import Foundation
import GRDB
import HubProtocol
import HubRouting
import Testing

@testable import HubStore

/// Credentials in the hub's file.
struct SecretBoxTests {
    private let credential = PlatformCredential(.wns, [.init(name: "SecretKey", value: "open sesame")])

    private func folder() throws -> URL {
        let folder = URL.temporaryDirectory.appending(path: "secrets-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        return folder
    }

    private func store(_ folder: URL, key: UInt8?) throws -> HubStore {
        let box = key.map { SecretBox(key: Array(repeating: $0, count: SecretBox.keyBytes)) }
        return try HubStore(path: folder.appending(path: "hub.sqlite").path, secrets: box)
    }

    private func make(_ store: HubStore) async throws {
        let description = NotificationHubDescription(credentials: [credential])
        let results = try await store.commit([
            { @Sendable transaction in
                try transaction.insertHub(HubName("news"), description, at: Timestamp(milliseconds: 0))
            }
        ])
        _ = try results[0].get()
    }

    private func credentials(_ store: HubStore) async throws -> [PlatformCredential] {
        try await store.storedHubs().flatMap(\.description.credentials)
    }

    @Test func `a credential is read with its key, and is nowhere in the file`() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = try store(folder, key: 1)
        try await make(store)
        #expect(try await credentials(store) == [credential])
        try store.close()
        let bytes = try Data(contentsOf: folder.appending(path: "hub.sqlite"))
        #expect(bytes.range(of: Data("open sesame".utf8)) == nil)
    }

    @Test func `what an older version has written is encrypted at the next start`() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let older = try store(folder, key: nil)
        try await make(older)
        try older.close()
        let store = try store(folder, key: 1)
        try await store.change { try $0.sealSecrets() }
        let stored = try await store.pool.read { try String.fetchOne($0, sql: "SELECT about FROM hub") }
        #expect(stored?.hasPrefix("sealed:") == true && stored?.contains("sesame") == false)
        #expect(try await credentials(store) == [credential])
    }

    @Test func `with another key the hub is there without its credentials, and is named`() async throws {
        let folder = try folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try store(folder, key: 1)
        try await make(first)
        try first.close()
        let other = try store(folder, key: 2)
        #expect(try await credentials(other).isEmpty)
        #expect(try await other.hubsWithLostSecrets().map(\.name.text) == ["news"])
        // A change that sets no credential must not cost those that cannot be read.
        var stored = try #require(try await other.storedHubs().first)
        stored.updatedAt = Timestamp(milliseconds: 7)
        let changed = stored
        _ = try await other.commit([{ @Sendable transaction in try transaction.update(changed) }])[0].get()
        try other.close()
        #expect(try await credentials(try store(folder, key: 1)) == [credential])
    }

    @Test func `a sealed text belongs to its hub`() throws {
        let box = SecretBox(key: Array(repeating: 7, count: SecretBox.keyBytes))
        let sealed = try box.seal("text", hub: 1)
        #expect(box.open(sealed, hub: 1) == "text" && box.open(sealed, hub: 2) == nil)
        #expect(box.open("sealed:1:nonsense", hub: 1) == nil && box.open("plain", hub: 1) == "plain")
    }
}
