import Foundation
import GRDB
import Testing

/// A hub whose database is lost does not silently become a new one with new keys.
@Suite(.serialized) struct LostDatabaseTests {
    private let scratch: ScratchFolder

    init() throws { scratch = try ScratchFolder() }

    private var database: String { scratch.file("hub/hub.sqlite") }
    private var state: [String] { ["--state", scratch.file("hub")] }

    private func startHub(_ options: [String] = []) async throws -> RunningProgram {
        try await RunningProgram(["hub", "--port", "0"] + options + state, folder: scratch.path)
    }

    private func run(_ arguments: [String]) async throws -> BuiltProgram.Outcome {
        try await BuiltProgram.run(arguments + state)
    }

    /// Waits for at most as long as some hundred starts of the program take.
    private func wait(until isDone: () -> Bool) async throws {
        for _ in 1...500 where !isDone() { _ = try await BuiltProgram.run(["--version"]) }
    }

    /// The key that publishers have; each start may have another port.
    private func key() throws -> String {
        let text = try String(contentsOfFile: scratch.file("hub/full.connection"), encoding: .utf8)
        return try #require(text.components(separatedBy: "SharedAccessKey=").last)
    }

    private func lose(_ how: String) throws {
        for end in ["", "-wal", "-shm"] { unlink(database + end) }
        switch how {
        case "empty": try scratch.write("", to: "hub/hub.sqlite")
        case "without tables":
            let queue = try DatabaseQueue(path: database)
            try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 1") }
            try queue.close()
        case "damaged": try scratch.write("no database, and long enough to be the head of one", to: "hub/hub.sqlite")
        default: break
        }
    }

    @Test(.timeLimit(.minutes(10)), arguments: ["missing", "empty", "without tables", "damaged"])
    func `a hub whose database is gone is refused, until a copy is restored or it begins anew`(how: String) async throws
    {
        #expect(try await startHub().stop() == 0)
        #expect(try await run(["hub", "backup", scratch.file("copy")]).status == 0)
        let former = try key()

        try lose(how)
        for command in [["hub", "--port", "0"], ["hub", "keys"], ["hub", "--port", "0"]] {
            let refused = try await run(command)
            #expect(refused.status == 78, "\(command): \(refused.errors)")
            #expect(refused.output.isEmpty)
            #expect(refused.errors.contains("cannot use '\(database)'"), "\(refused.errors)")
            #expect(refused.errors.contains("newswire hub restore FILE"), "\(refused.errors)")
            #expect(refused.errors.contains("newswire hub --new"), "\(refused.errors)")
        }
        #expect(try key() == former, "the connection files stay")
        let check = try await BuiltProgram.run(
            ["check", "hub"],
            environment: ["NEWSWIRE_HUB_STATE": scratch.file("hub")]
        )
        #expect(check.status == 78 && check.errors.contains(database), "\(check.errors)")

        #expect(try await run(["hub", "restore", scratch.file("copy")]).status == 0)
        let restored = try await startHub()
        #expect(await restored.stop() == 0, "\(restored.errors)")
        #expect(try key() == former)

        try lose(how)
        let new = try await startHub(["--new"])
        #expect(await new.stop() == 0, "\(new.errors)")
        #expect(try key() != former)
        if how == "damaged" { #expect(new.errors.contains("hub.sqlite.before-restore"), "\(new.errors)") }
        let again = try await run(["hub", "--port", "0", "--new"])
        #expect(again.status == 78 && again.errors.contains("can be used"), "\(again.errors)")
        let usual = try await startHub()
        #expect(await usual.stop() == 0, "\(usual.errors)")
    }

    @Test(.timeLimit(.minutes(10))) func `a key that exists before the first start does not indicate a lost hub`()
        async throws
    {
        #expect(try await startHub().stop() == 0)
        let secret = try String(contentsOfFile: scratch.file("hub/secrets.key"), encoding: .utf8)
        for name in try FileManager.default.contentsOfDirectory(atPath: scratch.file("hub")) where name != "secrets.key"
        {
            try FileManager.default.removeItem(atPath: scratch.file("hub/\(name)"))
        }
        let hub = try await startHub()
        #expect(await hub.stop() == 0, "\(hub.errors)")
        #expect(try String(contentsOfFile: scratch.file("hub/secrets.key"), encoding: .utf8) == secret)
    }

    @Test(.timeLimit(.minutes(10))) func `a start that is refused makes no keys`() async throws {
        #expect(try await startHub().stop() == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: scratch.file("hub"))
        for name in names where name != "generation" {
            try FileManager.default.removeItem(atPath: scratch.file("hub/\(name)"))
        }
        let refused = try await run(["hub", "--port", "0"])
        #expect(refused.status == 78, "\(refused.errors)")
        let left = try FileManager.default.contentsOfDirectory(atPath: scratch.file("hub")).sorted()
        #expect(left == ["generation", "hub.lock"])
    }

    @Test(.timeLimit(.minutes(10))) func `a first start may say that it begins anew`() async throws {
        let hub = try await startHub(["--new"])
        #expect(await hub.stop() == 0, "\(hub.errors)")
    }

    @Test(.timeLimit(.minutes(10))) func `users whose database is lost are not silently nobody`() async throws {
        try scratch.write("correct horse\n", to: "password")
        let adding = ["user", "add", "ann", "--password-file", scratch.file("password")]
        #expect(try await run(adding).status == 0)
        // The first start with users makes the key of their payloads.
        let first = try await startHub()
        try await wait { FileManager.default.fileExists(atPath: scratch.file("hub/backend.key")) }
        #expect(await first.stop() == 0, "\(first.errors)")
        for end in ["", "-wal", "-shm"] { unlink(scratch.file("hub/backend.sqlite\(end)")) }
        for command in [adding, ["user", "list"]] {
            let refused = try await run(command)
            #expect(refused.status == 78, "\(refused.errors)")
            #expect(
                refused.errors.contains("it is missing, but '\(scratch.file("hub/backend.key"))'"),
                "\(refused.errors)"
            )
            #expect(refused.errors.contains("newswire hub restore FILE"), "\(refused.errors)")
        }
        let hub = try await startHub()
        try await wait { hub.errors.contains("the app backend cannot use its files") }
        #expect(await hub.stop() == 0)
        #expect(hub.errors.contains("the app backend cannot use its files"), "\(hub.errors)")
        #expect(!FileManager.default.fileExists(atPath: scratch.file("hub/backend.sqlite")))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"), .timeLimit(.minutes(10)))
    func `a database of another user is a matter of chown`() async throws {
        // Numbers without names.
        let (owner, other): (uid_t, uid_t) = (61_501, 61_502)
        #expect(try await startHub().stop() == 0)
        try #require(chmod(scratch.path, 0o755) == 0)
        for name in try FileManager.default.contentsOfDirectory(atPath: scratch.file("hub")) {
            try #require(chown(scratch.file("hub/\(name)"), owner, owner) == 0)
        }
        // A command of root works with the rights of the folder's owner.
        try #require(chown(scratch.file("hub"), owner, owner) == 0)
        try #require(chown(database, other, other) == 0)
        for command in [["hub", "--port", "0"], ["hub", "--port", "0", "--new"], ["hub", "keys"]] {
            let outcome = try await run(command)
            #expect(outcome.status == 78, "\(outcome.errors)")
            let cure = "'\(database)' belongs to '\(other)'; run as root: chown \(owner):\(owner) \(database)\n"
            #expect(outcome.errors.contains(cure), "\(outcome.errors)")
            #expect(!outcome.errors.contains("restore"), "\(outcome.errors)")
        }
        try #require(chown(database, owner, owner) == 0)
        #expect(try await run(["hub", "keys"]).status == 0)
        try #require(chmod(database, 0o400) == 0)
        let mode = try await run(["hub", "keys"])
        #expect(mode.status == 78 && mode.errors.contains("run: chmod u+rw \(database)\n"), "\(mode.errors)")
    }
}
