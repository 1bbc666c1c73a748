import Foundation
import GRDB
import HubProtocol
import HubRouting
import SQLiteFiles
import Testing

@testable import HubStore

struct RestoreTests {
    private func hub(_ path: String, named name: String) async throws {
        let store = try HubStore(path: path)
        let name = try HubName(name)
        _ = try await store.change { try $0.insertHub(name, rules: [], at: 0) }
        try store.close()
    }

    private func name(_ path: String) async throws -> String? {
        let store = try HubStore(path: path)
        let hubs = try await store.hubs()
        try store.close()
        return hubs.first.map { "\($0.name)" }
    }

    @Test func `each restore keeps the database it replaces`() async throws {
        let scratch = try Scratch()
        for name in ["one", "two", "three"] { try await hub(scratch.file("\(name).sqlite"), named: name) }
        let database = scratch.file("one.sqlite")
        let first = try #require(try HubBackup.restore(scratch.file("two.sqlite"), to: database)).path
        let second = try #require(try HubBackup.restore(scratch.file("three.sqlite"), to: database)).path
        #expect(first != second)
        #expect(try await name(first) == "one")
        #expect(try await name(second) == "two")
        #expect(try await name(database) == "three")
    }

    @Test func `of the databases that restores replace the last two stay`() async throws {
        let scratch = try Scratch()
        let database = scratch.file("hub.sqlite")
        for number in 0...4 { try await hub(scratch.file("\(number)"), named: "h\(number)") }
        try await hub(database, named: "before")
        // Nobody's former database.
        let others = ["hub.sqlite.before-restore-x", "hub.sqlite.before-restore-02", "other.sqlite.before-restore"]
        for name in others { try Data().write(to: URL(filePath: scratch.file(name))) }
        var kept: [String] = []
        for number in 0...4 {
            kept.append(try #require(try HubBackup.restore(scratch.file("\(number)"), to: database)).path)
            let removed = FormerDatabases(of: database).removeOldest()
            #expect(removed == (number < 2 ? [] : [kept[number - 2]]))
        }
        #expect(Set(kept).count == 5, "no name is used again: the highest number is the newest")
        for (number, path) in kept.enumerated() {
            #expect(FileManager.default.fileExists(atPath: path) == (number >= 3), "\(path)")
        }
        #expect(try await [name(kept[3]), name(kept[4])] == ["h2", "h3"])
        for name in others { #expect(FileManager.default.fileExists(atPath: scratch.file(name))) }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func `what root restores belongs to the folder's owner`() async throws {
        let scratch = try Scratch()
        try FileManager.default.createDirectory(atPath: scratch.file("state"), withIntermediateDirectories: false)
        let database = scratch.file("state/hub.sqlite")
        for path in [scratch.file("copy.sqlite"), database] { try await hub(path, named: "news") }
        try #require(chown(scratch.file("state"), 4_242, 4_243) == 0)
        let kept = try #require(try HubBackup.restore(scratch.file("copy.sqlite"), to: database)).path
        for path in [database, kept] {
            var facts = stat()
            #expect(stat(path, &facts) == 0 && facts.st_uid == 4_242 && facts.st_gid == 4_243, "\(path)")
        }
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give files away"))
    func `root gives away nothing that a link in the folder leads to`() async throws {
        let scratch = try Scratch()
        let (folder, target) = (scratch.file("state"), scratch.file("target"))
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        try Data().write(to: URL(filePath: target))
        try #require(chown(folder, 4_242, 4_243) == 0)
        try #require(symlink(target, folder + "/symbolic") == 0 && link(target, folder + "/hard") == 0)
        for name in ["symbolic", "hard"] {
            DatabaseCopier.giveToFolderOwner("\(folder)/\(name)")
            var facts = stat()
            #expect(stat(target, &facts) == 0 && facts.st_uid == 0, "\(name)")
        }
    }

    @Test func `a copy bears a mark, and so does what is restored from anything`() async throws {
        let scratch = try Scratch()
        let (database, plain) = (scratch.file("hub.sqlite"), scratch.file("plain.sqlite"))
        for path in [database, plain] { try await hub(path, named: "news") }
        func isCopy(_ path: String) async throws -> Bool {
            let store = try HubStore(path: path)
            let isCopy = try await store.change { try $0.isCopy() }
            try store.close()
            return isCopy
        }
        try HubBackup.copy(database, to: scratch.file("copy"))
        #expect(try await isCopy(scratch.file("copy")))
        #expect(try await !isCopy(database))
        let kept = try #require(try HubBackup.restore(plain, to: database)).path
        #expect(try await isCopy(database))
        #expect(try await isCopy(kept), "it may be put back in its turn")
        #expect(try await !isCopy(plain))
        try HubBackup.declareRestored(plain)
        #expect(try await isCopy(plain))
        #expect(throws: DatabaseCopyError.self) { try HubBackup.declareRestored(scratch.file("absent")) }
        #expect(!FileManager.default.fileExists(atPath: scratch.file("absent")))
    }

    @Test(arguments: ["hub.sqlite.restored.part", "hub.sqlite.restored", "hub.sqlite.before-restore"])
    func `nothing is written through a link in the state directory`(name: String) async throws {
        let scratch = try Scratch()
        for path in ["copy.sqlite", "hub.sqlite"] { try await hub(scratch.file(path), named: "news") }
        try #require(symlink(scratch.file("target"), scratch.file(name)) == 0)
        _ = try HubBackup.restore(scratch.file("copy.sqlite"), to: scratch.file("hub.sqlite"))
        #expect(!FileManager.default.fileExists(atPath: scratch.file("target")))
        #expect(try await self.name(scratch.file("hub.sqlite")) == "news")
    }

    @Test func `a copy is for its owner alone to read`() async throws {
        let scratch = try Scratch()
        try await hub(scratch.file("hub.sqlite"), named: "news")
        try HubBackup.copy(scratch.file("hub.sqlite"), to: scratch.file("copy"))
        var facts = stat()
        #expect(stat(scratch.file("copy"), &facts) == 0 && facts.st_mode & 0o777 == 0o600)
    }

    @Test func `a loss has a sequence that no message has`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        let first = try await store.change { try $0.noteLoss(epoch: "e", at: 5) }
        #expect(first.sequence == 1 && first.since == nil)
        let message = try await store.append(hub, at: 7)
        let second = try await store.change { try $0.noteLoss(epoch: "f", at: 9) }
        #expect(message == 2 && second.sequence == 3 && second.since == 7)
        // With nothing in between the later one takes the place of the earlier.
        let third = try await store.change { try $0.noteLoss(epoch: "g", at: 11) }
        #expect(try await store.losses() == [first, third])
        #expect(third.sequence == 4 && third.since == 7)
        #expect(try await store.extent().top == 4)
        #expect(try await store.append(hub) == 5)
    }

    @Test func `a database is whole without its log before the log is taken away`() async throws {
        let scratch = try Scratch()
        let (store, hub) = try await scratch.store()
        try await store.append(hub, "{}")
        // As a hub leaves it that was killed.
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: scratch.path + suffix, toPath: scratch.file("killed") + suffix)
        }
        try store.close()
        try DatabaseCopier.emptyLog(of: scratch.file("killed"))
        try? FileManager.default.removeItem(atPath: scratch.file("killed-wal"))
        let killed = try HubStore(path: scratch.file("killed"))
        #expect(try await killed.extent().top == 1)
    }

    @Test func `a folder that is not there is named`() async throws {
        let scratch = try Scratch()
        try await hub(scratch.file("hub.sqlite"), named: "news")
        let database = scratch.file("hub.sqlite")
        let error = #expect(throws: DatabaseCopyError.self) {
            try HubBackup.copy(database, to: "/nonexistent/copy.sqlite")
        }
        #expect(error?.description.contains("/nonexistent/copy.sqlite") == true)
    }

    /// The names in a folder, without the files that a reader makes beside a database.
    private func names(_ scratch: Scratch) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: scratch.folder)
            .filter { name in !["hub.sqlite-shm", "hub.sqlite-wal"].contains(name) }.sorted()
    }

    private func migrations(_ path: String) throws -> [String] {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        return try queue.read { try String.fetchAll($0, sql: "SELECT identifier FROM grdb_migrations") }
    }

    private func setLater(_ path: String) throws {
        let queue = try DatabaseQueue(path: path)
        try queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('999 later')") }
        try queue.close()
    }

    @Test func `a database of a newer version is replaced and kept, and replaces nothing itself`() async throws {
        let scratch = try Scratch()
        let (database, copy) = (scratch.file("hub.sqlite"), scratch.file("copy"))
        try await hub(database, named: "earlier")
        try HubBackup.copy(database, to: copy)
        try setLater(database)
        let kept = try #require(try HubBackup.restore(copy, to: database))
        #expect(kept.isOfNewerVersion && kept.path == database + ".before-restore")
        #expect(try migrations(kept.path).contains("999 later"))
        #expect(try await name(database) == "earlier")
        let before = try names(scratch)
        let error = #expect(throws: DatabaseFileError.self) { try HubBackup.restore(kept.path, to: database) }
        #expect(error?.cause == .newerVersion && error?.path == kept.path)
        #expect(try names(scratch) == before)
        #expect(try #require(try HubBackup.restore(copy, to: database)).isOfNewerVersion == false)
    }

    @Test(arguments: ["full while it is kept", "not a file"])
    func `a restore that fails changes nothing and leaves nothing behind`(failure: String) async throws {
        let scratch = try Scratch()
        let (database, copy) = (scratch.file("hub.sqlite"), scratch.file("copy"))
        try await hub(scratch.file("other"), named: "other")
        try HubBackup.copy(scratch.file("other"), to: copy)
        if failure == "not a file" {
            try FileManager.default.createDirectory(atPath: database, withIntermediateDirectories: false)
        } else {
            try await hub(database, named: "news")
        }
        // As a restore that was killed has left them.
        for name in ["hub.sqlite.restored", "hub.sqlite.restored.part", "hub.sqlite.restored.part-journal"] {
            try Data().write(to: URL(filePath: scratch.file(name)))
        }
        let before = try names(scratch).filter { !$0.contains(".restored") }
        #expect(throws: DatabaseError.self) {
            try HubBackup.copier.restore(
                copy,
                to: database,
                finishKept: { _ in throw DatabaseError(resultCode: .SQLITE_FULL) }
            )
        }
        #expect(try names(scratch) == before)
        if failure != "not a file" { #expect(try await name(database) == "news") }
    }

    @Test(arguments: ["hub.sqlite.restored", "hub.sqlite.restored.part", "hub.sqlite.restored.part-wal"])
    func `a copy with the name of a temporary file is refused, and is still there`(name: String) async throws {
        let scratch = try Scratch()
        let (database, copy) = (scratch.file("hub.sqlite"), scratch.file(name))
        try await hub(database, named: "news")
        try HubBackup.copy(database, to: scratch.file("copy"))
        try FileManager.default.moveItem(atPath: scratch.file("copy"), toPath: copy)
        let before = try Data(contentsOf: URL(filePath: copy))
        let error = #expect(throws: DatabaseCopyError.self) { try HubBackup.restore(copy, to: database) }
        #expect(error?.description.contains("'\(copy)': it belongs to the database that is copied") == true)
        #expect(try Data(contentsOf: URL(filePath: copy)) == before)
        #expect(try names(scratch) == ["hub.sqlite", name])
        #expect(try await self.name(database) == "news")
    }

    @Test func `a file with the name of the temporary one that is not a copy of a database stays`() async throws {
        let scratch = try Scratch()
        let (database, notes) = (scratch.file("hub.sqlite"), scratch.file("hub.sqlite.restored"))
        try await hub(database, named: "news")
        try HubBackup.copy(database, to: scratch.file("copy"))
        try Data("when it was restored".utf8).write(to: URL(filePath: notes))
        let copy = scratch.file("copy")
        let error = #expect(throws: DatabaseCopyError.self) { try HubBackup.restore(copy, to: database) }
        #expect(error?.description.contains("is not a copy of a database") == true)
        #expect(try String(contentsOfFile: notes, encoding: .utf8) == "when it was restored")
    }

    @Test(arguments: ["garbage", "SQLite format 3\0 and then nothing that makes sense"])
    func `a damaged database is kept as it is, with its log, and replaced`(damage: String) async throws {
        let scratch = try Scratch()
        let database = scratch.file("hub.sqlite")
        try await hub(scratch.file("good.sqlite"), named: "news")
        try HubBackup.copy(scratch.file("good.sqlite"), to: scratch.file("copy.sqlite"))
        try Data(damage.utf8).write(to: URL(filePath: database))
        try Data("log".utf8).write(to: URL(filePath: database + "-wal"))
        let kept = try #require(try HubBackup.restore(scratch.file("copy.sqlite"), to: database)).path
        #expect(try Data(contentsOf: URL(filePath: kept)) == Data(damage.utf8))
        #expect(try Data(contentsOf: URL(filePath: kept + "-wal")) == Data("log".utf8))
        #expect(try await name(database) == "news")
    }

    @Test func `a copy that is damaged itself is named, and replaces nothing`() async throws {
        let scratch = try Scratch()
        let (database, broken) = (scratch.file("hub.sqlite"), scratch.file("copy.sqlite"))
        try await hub(database, named: "news")
        try HubBackup.copy(database, to: broken)
        let before = try Data(contentsOf: URL(filePath: database))
        var pages = try Data(contentsOf: URL(filePath: broken))
        // All but the first page, which says what there is.
        pages.replaceSubrange(4_096..., with: repeatElement(0xA5, count: pages.count - 4_096))
        try pages.write(to: URL(filePath: broken))
        let error = #expect(throws: DatabaseCopyError.self) { try HubBackup.restore(broken, to: database) }
        #expect(error?.description.contains("'\(broken)'") == true, "\(String(describing: error))")
        #expect(try Data(contentsOf: URL(filePath: database)) == before)
    }

    @Test func `a copy replaces a copy, or an empty file, and nothing else`() async throws {
        let scratch = try Scratch()
        let database = scratch.file("hub.sqlite")
        try await hub(database, named: "news")
        for round in 0..<2 {
            #expect(throws: Never.self, "\(round)") { try HubBackup.copy(database, to: scratch.file("copy")) }
        }
        try Data().write(to: URL(filePath: scratch.file("empty")))
        #expect(throws: Never.self) { try HubBackup.copy(database, to: scratch.file("empty")) }
        try Data("-----BEGIN PRIVATE KEY-----".utf8).write(to: URL(filePath: scratch.file("ca-key.pem")))
        let error = #expect(throws: DatabaseCopyError.self) {
            try HubBackup.copy(database, to: scratch.file("ca-key.pem"))
        }
        #expect(error?.description.contains("is not a copy of a database") == true)
    }

    @Test func `a copy does not replace what is copied`() async throws {
        let scratch = try Scratch()
        let database = scratch.file("hub.sqlite")
        try await hub(database, named: "news")
        try FileManager.default.createSymbolicLink(atPath: scratch.file("link"), withDestinationPath: "hub.sqlite")
        try FileManager.default.linkItem(atPath: database, toPath: scratch.file("hard"))
        let before = try Data(contentsOf: URL(filePath: database))
        for name in ["hub.sqlite", "./hub.sqlite", "hub.sqlite-wal", "hub.sqlite-journal", "link", "hard"] {
            let error = #expect(throws: DatabaseCopyError.self, "\(name)") {
                try HubBackup.copy(database, to: scratch.file(name))
            }
            #expect(error?.description.contains("belongs to the database") == true)
        }
        #expect(try Data(contentsOf: URL(filePath: database)) == before)
    }
}

extension Scratch {
    fileprivate func file(_ name: String) -> String { "\(folder)/\(name)" }
}
