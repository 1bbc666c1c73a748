import Foundation
import HostSystem
import HubTestServer
import Logging
import Testing

@testable import AppBackend

@Suite struct PayloadBoxTests {
    private let scratch: ScratchFolder
    private var path: String { scratch.file("backend.key") }

    init() throws { scratch = try ScratchFolder() }

    @Test func `a payload opens for its id and addressee, with the key of the file`() throws {
        let box = try PayloadBox(keyFile: path)
        let sealed = try box.seal("secret \u{1F512}", id: 7, addressee: "bob")
        #expect(sealed.range(of: Data("secret".utf8)) == nil)
        #expect(try box.seal("secret", id: 7, addressee: "bob") != box.seal("secret", id: 7, addressee: "bob"))
        let again = try PayloadBox(keyFile: path)
        #expect(again.open(sealed, id: 7, addressee: "bob") == "secret \u{1F512}")
        #expect(again.open(sealed, id: 8, addressee: "bob") == nil)
        #expect(again.open(sealed, id: 7, addressee: "ann") == nil)
        var changed = sealed
        changed[changed.count - 1] ^= 1
        #expect(again.open(changed, id: 7, addressee: "bob") == nil)
        let other = try PayloadBox(keyFile: scratch.file("other.key"))
        #expect(other.open(sealed, id: 7, addressee: "bob") == nil)
    }

    @Test func `the key's file is for its owner alone, and one that holds no key is left as it is`() throws {
        _ = try PayloadBox(keyFile: path)
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        try "short\n".write(toFile: path, atomically: true, encoding: .utf8)
        #expect(throws: HostError.self) { try PayloadBox(keyFile: path) }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "short\n")
    }

    @Test func `a payload of another key is a failure that is logged, and no refusal like those of ids`() async throws {
        let store = try BackendStore(path: scratch.file("b.sqlite"))
        let bob = try #require(UserName("bob"))
        let first = SecurePayloads(store: store, box: try PayloadBox(keyFile: path), clock: .system, logger: .quiet)
        let id = try await first.put("x", for: bob, from: bob)
        let box = try PayloadBox(keyFile: scratch.file("other.key"))
        let second = SecurePayloads(store: store, box: box, clock: .system, logger: .quiet)
        await #expect(throws: SecurePayloads.Unreadable.self) { try await second.fetch(id, by: bob) }
    }
}
