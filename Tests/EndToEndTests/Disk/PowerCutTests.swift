import Foundation
import GRDB
import OutboundHTTP
import Testing

/// The power fails right after a program has reported that something is stored.
@Suite(
    .serialized,
    .enabled(if: PowerCutDisk.isPossible, "only root can mount a disk whose power is cut, and needs loop devices")
)
struct PowerCutTests {
    enum Change: String, CaseIterable, Sendable {
        case newHub, message, rotatedKey
        case invitation, operatorLink, session, endedSession, operatorSession
        case user, backup, restore, restoreInPlace, feeds

        /// False if a command makes the change while no hub is running.
        var needsHub: Bool {
            [.newHub, .message, .session, .endedSession, .operatorSession].contains(self)
        }
    }

    private let disk: PowerCutDisk
    private let scratch: ScratchFolder
    private let port: Int

    init() throws {
        disk = try PowerCutDisk()
        scratch = try ScratchFolder()
        port = try freePort()
        try scratch.write("correct horse\n", to: "password")
    }

    private var state: [String] { ["--state", "\(disk.path)/hub"] }

    @Test(.timeLimit(.minutes(10)), arguments: Change.allCases)
    func `what was reported as stored is there after a power cut`(change: Change) async throws {
        var hub: RunningProgram?
        if change != .newHub {
            let first = try await startHub()
            #expect(await first.stop() == 0, "\(first.errors)")
        }
        if change.needsHub, change != .newHub { hub = try await startHub() }
        let make = try await prepare(change)
        try disk.sync()
        let former = try content()
        if change == .newHub { hub = try await startHub() } else { try await make() }
        let stored = try content()
        try disk.cut()
        #expect(stored != former, "the test changes nothing")

        await hub?.killNow()
        try disk.restart()
        let kept = try content(isRecovered: true)
        for name in Set(stored.keys).union(kept.keys).sorted() {
            // A hub that has just started goes on writing.
            let isSame =
                change == .newHub
                ? Self.lines(stored[name]).isSubset(of: Self.lines(kept[name])) : kept[name] == stored[name]
            #expect(isSame, "\(name): \(stored[name] ?? "none"), then \(kept[name] ?? "none")")
        }
        let next = try await startHub()
        #expect(next.isRunning, "\(next.errors)")
        let isMarked = change == .restore || change == .restoreInPlace
        #expect(next.errors.contains("older copy") == isMarked, "\(next.errors)")
        #expect(await next.stop() == 0)
    }

    private static func lines(_ text: String?) -> Set<Substring> { Set((text ?? "").split(separator: "\n")) }

    private func startHub() async throws -> RunningProgram {
        try await RunningProgram(["hub", "--port", "\(port)"] + state, folder: scratch.path)
    }

    /// Does what a change needs before it; the change itself is the result.
    private func prepare(_ change: Change) async throws -> () async throws -> Void {
        let copy = "\(disk.path)/copy"
        func command(_ arguments: [String]) -> () async throws -> Void {
            { try await run(arguments) }
        }
        switch change {
        case .newHub: return {}
        case .message:
            let message = ["send", "--message", "x", "--connection-file", "\(disk.path)/hub/full.connection"]
            return command(message)
        case .rotatedKey: return command(["hub", "keys", "--rotate", "DefaultListenSharedAccessSignature"] + state)
        case .invitation: return command(["hub", "invite"] + state)
        case .operatorLink: return command(["hub", "invite", "--operator"] + state)
        case .session:
            let code = try await code(["hub", "invite"])
            return { _ = try await post("enter", "code=\(code)") }
        case .endedSession:
            let code = try await code(["hub", "invite"])
            let cookie = try await post("enter", "code=\(code)")
            return { _ = try await post("leave", "", cookie: cookie) }
        case .operatorSession:
            let code = try await code(["hub", "invite", "--operator"])
            return { _ = try await post("admin/enter", "code=\(code)") }
        case .user: return command(["user", "add", "ann", "--password-file", scratch.file("password")] + state)
        case .backup: return command(["hub", "backup", copy] + state)
        case .restore:
            try await run(["hub", "backup", copy] + state)
            return command(["hub", "restore", copy] + state)
        case .restoreInPlace:
            // A restored copy has a rollback journal until its first start.
            try await run(["hub", "backup", copy] + state)
            for end in ["", "-wal", "-shm"] { unlink("\(disk.path)/hub/hub.sqlite\(end)") }
            try FileManager.default.copyItem(atPath: copy, toPath: "\(disk.path)/hub/hub.sqlite")
            let queue = try DatabaseQueue(path: "\(disk.path)/hub/hub.sqlite")
            try await queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA user_version = 0") }
            try queue.close()
            return command(["hub", "restore", "--in-place"] + state)
        case .feeds:
            let opml = scratch.file("feeds.opml")
            try await run(["feeds", "export", "--feeds", "\(BuiltProgram.repository)/feeds", opml])
            return command(["feeds", "import", "--trust", "--feeds", "\(disk.path)/feeds", opml])
        }
    }

    private func run(_ arguments: [String]) async throws {
        let outcome = try await BuiltProgram.run(arguments)
        try #require(outcome.status == 0, "\(arguments): \(outcome.errors)")
    }

    private func code(_ command: [String]) async throws -> String {
        let outcome = try await BuiltProgram.run(command + state)
        let match = try #require(outcome.output.firstMatch(of: /code=([^\n]+)/), "\(outcome.errors)")
        return String(match.output.1)
    }

    private func post(_ path: String, _ form: String, cookie: String? = nil) async throws -> String? {
        let http = OutboundClient(userAgent: "newswire-test/1")
        var headers: [(name: String, value: String)] = [("Sec-Fetch-Site", "same-origin")]
        if let cookie { headers.append((name: "Cookie", value: cookie)) }
        let reply = try await http.send(
            OutboundRequest(
                method: "POST",
                url: "http://127.0.0.1:\(port)/-/news/\(path)",
                headers: headers,
                body: Array(form.utf8),
                maximumRedirects: 0,
                addresses: .any
            )
        )
        await http.shutdown()
        try #require(reply.status == 303, "\(path): \(String(decoding: reply.body, as: UTF8.self))")
        return reply.headers["Set-Cookie"].map { String($0.prefix { $0 != ";" }) }
    }

    // MARK: Content

    /// What is on the disk, by file, apart from what a hub changes on its own.
    ///
    /// A database whose `-shm` the power cut took back is recovered by a connection that may write. Before the cut no
    /// connection may: its end would sync the database.
    private func content(isRecovered: Bool = false) throws -> [String: String] {
        var content: [String: String] = [:]
        let names = FileManager.default.enumerator(atPath: disk.path)?.compactMap { $0 as? String } ?? []
        let unstable = [".lock", "-wal", "-shm", "/generation", ".tmp"]
        for name in names where !unstable.contains(where: { name.hasSuffix($0) }) {
            let path = "\(disk.path)/\(name)"
            let facts = try FileManager.default.attributesOfItem(atPath: path)
            guard facts[.type] as? FileAttributeType == .typeRegular else { continue }
            if name.hasSuffix(".sqlite") {
                let tables = name.hasSuffix("hub.sqlite") ? ["log", "hub", "accessRule"] : nil
                content[name] = try rows(path, tables, isReadOnly: !isRecovered)
            } else {
                content[name] = try Data(contentsOf: URL(filePath: path)).base64EncodedString()
            }
        }
        return content
    }

    /// The rows of a database's tables, all of them if none are named.
    private func rows(_ path: String, _ tables: [String]?, isReadOnly: Bool) throws -> String {
        var configuration = Configuration()
        configuration.readonly = isReadOnly
        configuration.busyMode = .timeout(10)
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        defer { try? queue.close() }
        return try queue.read { db in
            let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
            var lines = ["user_version \(try Int.fetchOne(db, sql: "PRAGMA user_version") ?? -1)"]
            for table in try tables ?? String.fetchAll(db, sql: sql) {
                lines += try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { "\(table) \($0)" }.sorted()
            }
            return lines.joined(separator: "\n")
        }
    }
}
