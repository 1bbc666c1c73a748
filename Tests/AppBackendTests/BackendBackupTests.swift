import Foundation
import GRDB
import HubProtocol
import HubTestServer
import SQLiteFiles
import Testing

@testable import AppBackend

/// Copies of the database, and what a restore brings back.
@Suite struct BackendBackupTests {
    private let scratch: ScratchFolder
    private let path: String
    private let clock = AccountClock()
    private let alice: UserName
    private let sealed = Data("sealed bytes of a payload".utf8)

    init() throws {
        scratch = try ScratchFolder()
        path = scratch.file("backend.sqlite")
        alice = try #require(UserName("alice"))
    }

    /// Makes a store with an account, a token, a payload and a device.
    private func fill() async throws -> AccessToken {
        let store = try BackendStore(path: path)
        let password = try #require(Password("correct horse"))
        let hasher = PasswordHasher(parameters: SignInBench.cheap)
        try await Accounts(store: store, hasher: hasher, clock: clock.clock)
            .add(alice, password: password, mayNotifyOthers: false)
        let token = AccessToken.random()
        let account = try #require(try await store.account(named: alice))
        let (now, sealed) = (clock.now, sealed)
        #expect(
            try await store.insertToken(token, of: account, device: "pad", SignInBench.network("192.0.2.7"), at: now)
        )
        let place = try await store.changePayloads { table in
            try table.insert(
                for: "alice",
                from: "alice",
                within: PayloadBounds(),
                now: now,
                expiresAt: now + .seconds(60)
            ) { _ in sealed }
        }
        guard case .stored = place else { throw TestHub.NotStarted() }
        try await store.changeDevices { table in
            let holder = RegisteredDevice.Holder(user: "alice", handle: nil)
            try table.reserve(DeviceKey(kind: .registration, id: "1-2-3"), for: holder, limit: 10, at: now)
        }
        return token
    }

    private func count(_ table: String, in path: String) throws -> Int? {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        return try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(table)") }
    }

    @Test func `a copy that is made while the store is used has accounts and devices, and no tokens and payloads`()
        async throws
    {
        let token = try await fill()
        let store = try BackendStore(path: path)
        let copy = scratch.file("copy")
        try BackendBackup.copy(path, to: copy)
        for (table, rows) in [("account", 1), ("device", 1), ("audit", 2), ("token", 0), ("payload", 0)] {
            #expect(try count(table, in: copy) == rows, "\(table)")
        }
        let bytes = try Data(contentsOf: URL(filePath: copy))
        #expect(bytes.range(of: sealed) == nil && bytes.range(of: Data(token.hash)) == nil)
        #expect(!FileManager.default.fileExists(atPath: copy + "-wal"))
        let facts = try FileManager.default.attributesOfItem(atPath: copy)
        #expect(facts[.posixPermissions] as? Int == 0o600)
        // The store itself has all of it.
        let found = try await store.account(token: token, at: clock.now)
        #expect(found != nil)
        #expect(try count("payload", in: path) == 1)
    }

    @Test func `a restore revokes tokens, also those of a copy that was made by other means`() async throws {
        let token = try await fill()
        let plain = scratch.file("plain")
        let queue = try DatabaseQueue(path: path)
        try queue.backup(to: try DatabaseQueue(path: plain))
        try queue.close()
        #expect(try count("token", in: plain) == 1)
        let kept = try #require(try BackendBackup.restore(plain, to: path)).path
        #expect(kept == path + ".before-restore")
        #expect(try count("token", in: kept) == 1, "the replaced database is kept as it was")
        let store = try BackendStore(path: path)
        let found = try await store.account(token: token, at: clock.now)
        #expect(found == nil)
        let account = try await store.account(named: alice)
        #expect(account != nil)
        #expect(try count("payload", in: path) == 0)
    }

    @Test func `a database that was put back in its place loses its tokens`() async throws {
        let token = try await fill()
        try BackendBackup.declareRestored(path)
        let store = try BackendStore(path: path)
        let found = try await store.account(token: token, at: clock.now)
        #expect(found == nil)
        #expect(try count("payload", in: path) == 1)
    }

    @Test func `another file is not a copy, and leaves the database as it is`() async throws {
        _ = try await fill()
        try Data("no database at all, which is longer than a head would be\n".utf8)
            .write(to: URL(filePath: scratch.file("text")))
        let other = try DatabaseQueue(path: scratch.file("other"))
        try await other.write { try $0.execute(sql: "CREATE TABLE hub (id INTEGER)") }
        try other.close()
        for name in ["text", "other", "absent"] {
            let error = #expect(throws: DatabaseCopyError.self, "\(name)") {
                try BackendBackup.restore(scratch.file(name), to: path)
            }
            #expect(error?.description.contains(scratch.file(name)) == true)
        }
        #expect(try count("token", in: path) == 1)
        #expect(throws: DatabaseCopyError.self) { try BackendBackup.copy(path, to: scratch.file("text")) }
    }
}
