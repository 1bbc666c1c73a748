import Foundation
import GRDB
import Testing

/// Databases that are put back by any means, and what root does in a state directory of somebody else.
@Suite struct RestoreTests {
    private let scratch: ScratchFolder
    private let port: Int
    private var state: [String] { ["--state", scratch.file("hub")] }

    init() throws {
        scratch = try ScratchFolder()
        port = try freePort()
    }

    private func startHub() async throws -> RunningProgram {
        let hub = try await RunningProgram(["hub", "--port", "\(port)"] + state, folder: scratch.path)
        try #require(hub.isRunning, "\(hub.errors)")
        return hub
    }

    private func startAgent(_ choice: String? = nil) async throws -> RunningProgram {
        let categories = choice.map { ["--categories", $0] } ?? []
        let agent = try await RunningProgram(
            ["subscribe", "--state", scratch.file("agent"), "--json"] + categories,
            environment: ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")],
            folder: scratch.path
        )
        try #require(agent.isRunning, "\(agent.errors)")
        return agent
    }

    private func send(_ text: String, to tags: String = "World") async throws {
        let outcome = try await BuiltProgram.run(
            ["send", "--tags", tags, "--message", text],
            environment: ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    @Test func `a copy that does not exist is named, and no state directory is created for it`() async throws {
        let outcome = try await BuiltProgram.run(["hub", "restore", scratch.file("none")] + state)
        #expect(outcome.status == 1 && outcome.errors.contains("there is no copy '\(scratch.file("none"))'"))
        #expect(!FileManager.default.fileExists(atPath: scratch.file("hub")))
    }

    @Test(.enabled(if: geteuid() != 0, "root may read it"))
    func `a database that this user may not read is a matter of chown, for a copy too`() async throws {
        let hub = try await startHub()
        #expect(await hub.stop() == 0)
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: scratch.file("hub/hub.sqlite"))
        let outcome = try await BuiltProgram.run(["hub", "backup", scratch.file("copy")] + state)
        #expect(outcome.status == 78 && outcome.errors.contains("run: chmod u+rw"), "\(outcome.errors)")
    }

    private func expectSuccess(_ arguments: [String]) async throws {
        let outcome = try await BuiltProgram.run(arguments)
        try #require(outcome.status == 0, "\(outcome.errors)")
    }

    /// The agent's inbox: titles of messages, and `gap`; looks again until it holds what is awaited.
    private func inbox(until isAwaited: ([String]) -> Bool) async throws -> [String] {
        struct Row: Decodable {
            let kind: String
            let title: String
        }
        var kinds: [String] = []
        for _ in 0..<500 {
            let outcome = try await BuiltProgram.run([
                "inbox", "--state", scratch.file("agent"), "--json", "--last", "100",
            ])
            kinds = try outcome.output.split(separator: "\n").map {
                let row = try JSONDecoder().decode(Row.self, from: Data($0.utf8))
                return row.kind == "message" ? row.title : row.kind
            }
            if isAwaited(kinds) { break }
        }
        return kinds
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["backup", "by hand", "snapshot"])
    func `an agent that was away gets a gap for what a restore lost`(way: String) async throws {
        var hub = try await startHub()
        let agent = try await startAgent("World")
        try await send("read")
        _ = try await inbox { $0.contains("read") }
        await agent.stop()
        try await send("held")
        if way == "backup" { try await expectSuccess(["hub", "backup", scratch.file("copy")] + state) }
        if way != "backup" {
            #expect(await hub.stop() == 0)
            try FileManager.default.copyItem(atPath: scratch.file("hub"), toPath: scratch.file("snapshot"))
            hub = try await startHub()
        }
        try await send("lost")
        await hub.killNow()
        switch way {
        case "backup": try await expectSuccess(["hub", "restore", scratch.file("copy")] + state)
        case "by hand":
            for suffix in ["", "-wal", "-shm"] {
                try? FileManager.default.removeItem(atPath: scratch.file("hub/hub.sqlite\(suffix)"))
            }
            let copy = scratch.file("snapshot/hub.sqlite")
            try FileManager.default.copyItem(atPath: copy, toPath: scratch.file("hub/hub.sqlite"))
        default:
            try FileManager.default.removeItem(atPath: scratch.file("hub"))
            try FileManager.default.moveItem(atPath: scratch.file("snapshot"), toPath: scratch.file("hub"))
            try await expectSuccess(["hub", "restore", "--in-place"] + state)
        }
        hub = try await startHub()
        #expect(hub.errors.contains("the database is an older copy"), "\(hub.errors)")
        try await send("new")
        let again = try await startAgent()
        #expect(try await inbox { $0.contains("new") } == ["read", "held", "gap", "new"])
        await again.stop()
        await hub.stop()
    }

    @Test(.timeLimit(.minutes(10)))
    func `an agent that listens takes its choice back to a hub that was restored`() async throws {
        var hub = try await startHub()
        let agent = try await startAgent("World")
        try await send("first")
        _ = try await inbox { $0.contains("first") }
        try await expectSuccess(["hub", "backup", scratch.file("copy")] + state)
        let connection = ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")]
        let choice = try await BuiltProgram.run(
            ["subscribe", "--state", scratch.file("agent"), "--categories", "Sports"],
            environment: connection
        )
        #expect(choice.status == 0, "\(choice.errors)")
        await hub.stop()
        try await expectSuccess(["hub", "restore", scratch.file("copy")] + state)
        hub = try await startHub()
        var kinds: [String] = []
        for number in 0..<100 where !kinds.contains(where: { $0.hasPrefix("sports") }) {
            try await send("sports \(number)", to: "Sports")
            kinds = try await inbox { _ in true }
        }
        try await send("world", to: "World")
        try await send("last", to: "Sports")
        kinds = try await inbox { $0.contains("last") }
        #expect(!kinds.contains("world"), "\(kinds)")
        #expect(kinds.contains("gap"))
        await agent.stop()
        await hub.stop()
    }

    @Test(.timeLimit(.minutes(10)))
    func `after a return to an earlier version its copy replaces the later database, which is kept`() async throws {
        let hub = try await startHub()
        try await expectSuccess(["hub", "backup", scratch.file("copy")] + state)
        #expect(await hub.stop() == 0)
        let queue = try DatabaseQueue(path: scratch.file("hub/hub.sqlite"))
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('999 later')") }
        try queue.close()
        let start = try await BuiltProgram.run(["hub", "--port", "0"] + state)
        #expect(start.status == 78 && start.errors.contains("newer version"), "\(start.errors)")
        let outcome = try await BuiltProgram.run(["hub", "restore", scratch.file("copy")] + state)
        let kept = scratch.file("hub/hub.sqlite.before-restore")
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.errors.contains("which a newer version of newswire has written, is kept in '\(kept)'"))
        let again = try await startHub()
        #expect(await again.stop() == 0)
    }

    @Test(arguments: [["hub", "restore"], ["hub", "restore", "--in-place", "copy"]])
    func `restore wants a copy or --in-place`(arguments: [String]) async throws {
        #expect(try await BuiltProgram.run(arguments + state).status == 64)
    }

    // MARK: - Root

    static let user: uid_t = 4_242
    static let group: gid_t = 4_243

    private func owner(_ path: String) -> uid_t? {
        let id = try? FileManager.default.attributesOfItem(atPath: path)[.ownerAccountID] as? NSNumber
        return id.map { uid_t($0.uint32Value) }
    }

    /// A state directory of another user, and a folder that only root may look into.
    private func makeFolders() throws -> (hub: String, own: String) {
        let (hub, own) = (scratch.file("hub"), scratch.file("own"))
        for folder in [hub, own] {
            try FileManager.default.createDirectory(
                atPath: folder,
                withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o700]
            )
        }
        try #require(chmod(scratch.path, 0o755) == 0)
        try #require(chown(hub, Self.user, Self.group) == 0)
        return (hub, own)
    }

    @Test(.enabled(if: geteuid() == 0, "only root can take on other rights"), .timeLimit(.minutes(10)))
    func `a command of root works in a state directory with the rights of its owner`() async throws {
        let (hub, own) = try makeFolders()
        let running = try await startHub()
        #expect(await running.stop() == 0, "\(running.errors)")
        let copy = own + "/copy"
        try await expectSuccess(["hub", "backup", copy] + state)
        #expect(owner(copy) == 0)
        try await expectSuccess(["hub", "keys", "--rotate", "DefaultListenSharedAccessSignature"] + state)
        // A copy that only root can read is put back all the same.
        for name in ["hub.sqlite.restored.part", "hub.sqlite.restored", "hub.sqlite.before-restore"] {
            try #require(symlink(own + "/planted", "\(hub)/\(name)") == 0)
        }
        try await expectSuccess(["hub", "restore", copy] + state)
        try await expectSuccess(["hub", "restore", "--in-place"] + state)
        #expect(try FileManager.default.contentsOfDirectory(atPath: own) == ["copy"])
        for file in try FileManager.default.contentsOfDirectory(atPath: hub) where owner("\(hub)/\(file)") == 0 {
            // The links of this test.
            var target = [CChar](repeating: 0, count: 1_024)
            #expect(readlink("\(hub)/\(file)", &target, 1_023) > 0, "\(file) belongs to root")
        }
        let again = try await startHub()
        #expect(await again.stop() == 0, "\(again.errors)")
    }

    @Test(
        .enabled(if: geteuid() == 0, "only root can take on other rights"),
        .timeLimit(.minutes(10)),
        arguments: [
            ["hub", "keys"], ["hub", "restore", "--in-place"], ["hub", "backup", "copy"], ["hub", "--port", "0"],
        ]
    )
    func `a command of root opens nothing through a link for which its owner lacks the rights`(
        command: [String]
    ) async throws {
        let (hub, own) = try makeFolders()
        let other = try await RunningProgram(["hub", "--port", "0", "--state", own], folder: scratch.path)
        await other.stop()
        let before = try FileManager.default.contentsOfDirectory(atPath: own).sorted()
        try #require(symlink(own + "/hub.sqlite", hub + "/hub.sqlite") == 0)
        let arguments = command.map { $0 == "copy" ? scratch.file("copy") : $0 }
        let outcome = try await BuiltProgram.run(arguments + state)
        #expect(outcome.status != 0)
        #expect(!outcome.output.contains("SharedAccessKey"))
        #expect(!FileManager.default.fileExists(atPath: scratch.file("copy")))
        #expect(try FileManager.default.contentsOfDirectory(atPath: own).sorted() == before)
    }
}
