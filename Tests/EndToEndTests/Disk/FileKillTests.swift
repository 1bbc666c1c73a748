import Foundation
import GRDB
import Testing

/// Commands that are killed after each sync, rename and removal of files.
@Suite(.serialized) struct FileKillTests {
    private let scratch: ScratchFolder
    private let disk: WatchedDisk

    init() async throws {
        scratch = try ScratchFolder()
        disk = try await WatchedDisk(scratch.path)
    }

    private var state: [String] { ["--state", scratch.file("work/hub")] }

    private func copyFolder(_ from: String, _ to: String) throws {
        try? FileManager.default.removeItem(atPath: scratch.file(to))
        try FileManager.default.copyItem(atPath: scratch.file(from), toPath: scratch.file(to))
    }

    /// What a hub's clients depend on.
    private func keys() async throws -> String {
        let outcome = try await BuiltProgram.run(["hub", "keys"] + state)
        #expect(outcome.status == 0, "\(outcome.errors)")
        return outcome.output
    }

    /// `nil` if there is no copy.
    private func isComplete(_ path: String) throws -> Bool? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read { db in
            try String.fetchOne(db, sql: "PRAGMA integrity_check") == "ok" && db.tableExists("hub")
        }
    }

    @Test(
        .timeLimit(.minutes(15)),
        arguments: [["hub", "backup", "COPY"], ["hub", "restore", "COPY"], ["hub", "invite"]]
    )
    func `a command that is killed at any point leaves the old state or the new one, and succeeds when it is repeated`(
        command: [String]
    ) async throws {
        let notices = try ScratchFolder()
        let start = ["hub", "--port", "0", "--state", scratch.file("first/hub")]
        let hub = try await RunningProgram(start, folder: notices.path)
        #expect(await hub.stop() == 0, "\(hub.errors)")
        let copy = scratch.file("work/copy")
        let arguments = command.map { $0 == "COPY" ? copy : $0 } + state
        try copyFolder("first", "work")
        let expected = try await keys()
        // A copy and the pages' file of an earlier time are replaced and changed.
        for former in [["hub", "backup", copy], ["hub", "invite"]] {
            #expect(try await BuiltProgram.run(former + state).status == 0)
        }
        try copyFolder("work", "former")
        for last in 1...500 {
            try copyFolder("former", "work")
            let outcome = try await BuiltProgram.run(arguments, environment: disk.environment(last: last))
            if outcome.status == 0 {
                #expect(last > 3, "the command changes files")
                return
            }
            #expect(outcome.errors.isEmpty || !outcome.errors.contains("error:"), "\(last): \(outcome.errors)")
            #expect(try await keys() == expected, "\(last)")
            #expect(try isComplete(copy) == true, "\(last)")
            let again = try await BuiltProgram.run(arguments)
            #expect(again.status == 0, "\(last): \(again.errors)")
            for folder in ["work", "work/hub"] {
                let names = try FileManager.default.contentsOfDirectory(atPath: scratch.file(folder))
                let leftovers = names.filter { $0.contains(".part") || $0.contains(".restored") }
                #expect(leftovers.isEmpty, "\(last): \(leftovers)")
            }
        }
        Issue.record("the command never ended")
    }
}
