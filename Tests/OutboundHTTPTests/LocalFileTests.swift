import FoundationEssentials
import Glibc
import OutboundHTTP
import Testing

@Suite struct LocalFileTests {
    private let directory: URL
    private let client = OutboundClient(userAgent: "t")

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent("newswire-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    private func request(_ name: String, limit: Int = 1_000) -> OutboundRequest {
        OutboundRequest(url: "file://\(directory.path)/\(name)", maximumBodyBytes: limit, allowsFile: true)
    }

    @Test func `a file is read by its address, escapes included`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data("feed".utf8).write(to: directory.appendingPathComponent("a b.xml"))
        let reply = try await client.send(request("a%20b.xml"))
        #expect(reply.status == 200)
        #expect(reply.body == Array("feed".utf8))
    }

    @Test func `a missing file is a 404`() async throws {
        #expect(try await client.send(request("none")).status == 404)
    }

    @Test func `a file larger than the bound is too large`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        try Data(count: 1_001).write(to: directory.appendingPathComponent("a"))
        await #expect(throws: OutboundError.tooLarge(host: "this machine", limit: 1_000)) {
            try await client.send(request("a"))
        }
    }

    @Test func `a pipe or a directory is not a file and does not block`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        #expect(mkfifo("\(directory.path)/pipe", 0o600) == 0)
        await #expect(throws: OutboundError.self) { try await client.send(request("pipe")) }
        await #expect(throws: OutboundError.self) { try await client.send(request("")) }
    }

    @Test func `another host's file is refused`() async throws {
        await #expect(throws: OutboundError.self) {
            try await client.send(OutboundRequest(url: "file://example.org/etc/hostname", allowsFile: true))
        }
    }
}
