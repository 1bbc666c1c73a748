import Foundation
import Testing

extension KillTests {
    @Test(.timeLimit(.minutes(20)), arguments: seeds)
    func `nothing is lost silently when an older copy is put back, with agents away and agents running`(
        seed: UInt64
    ) async throws {
        let play = try RestorePlay(seed: seed)
        try await play.play(rounds: Self.isLong ? 12 : 4)
        try await play.checkWhatArrived()
        await play.stop()
    }
}

/// A hub that is put back to older copies of itself again and again.
private final class RestorePlay {
    private static let last = "the last word"
    private static let agents = 3

    private let seed: UInt64
    private let scratch: ScratchFolder
    private let port: Int
    private var random: SeededGenerator
    private var hub: RunningProgram?
    private var agents: [RunningProgram?] = Array(repeating: nil, count: agents)
    /// Messages that are in the hub's log at the end.
    private var pending: [String] = []
    /// Messages that each restore has lost; whoever listened may have them.
    private var lost: [[String]] = []
    private var sent = 0

    init(seed: UInt64) throws {
        self.seed = seed
        scratch = try ScratchFolder()
        port = try freePort()
        random = SeededGenerator(seed: seed &+ 0x0BAC_C0DE)
    }

    func play(rounds: Int) async throws {
        try await startHub()
        for agent in agents.indices { try await startAgent(agent, isFirst: true) }
        for _ in 0..<rounds {
            let away = agents.indices.filter { _ in Bool.random(using: &random) }
            // Some are away since before the copy, some since after it, and some listen all the time.
            let isEarly = Bool.random(using: &random)
            pending += try await send()
            if isEarly { await leave(away) }
            pending += try await send()
            let restore = try await copy()
            var lost = try await send()
            if !isEarly { await leave(away) }
            if Bool.random(using: &random) {
                await hub?.killNow()
                try await startHub()
                lost += try await send()
            }
            if Bool.random(using: &random) { await hub?.killNow() } else { await hub?.stop() }
            try await restore()
            self.lost.append(lost)
            if Bool.random(using: &random) {
                try await startHub()
                try await startAgents()
            } else {
                try await startAgents()
                try await startHub()
            }
            pending += try await send()
            if Bool.random(using: &random) {
                // An ordinary crash on top.
                await hub?.killNow()
                try await startHub()
            }
        }
        pending.append(Self.last)
        try await send(Self.last)
    }

    // MARK: - Programs

    private var state: [String] { ["--state", scratch.file("hub")] }

    private func startHub() async throws {
        hub = try await RunningProgram(
            ["hub", "--port", "\(port)", "--log-level", "warning"] + state,
            folder: scratch.path
        )
        try #require(hub?.isRunning == true, "\(hub?.errors ?? "")")
    }

    private func startAgent(_ agent: Int, isFirst: Bool = false) async throws {
        agents[agent] = try await RunningProgram(
            ["subscribe", "--state", scratch.file("agent\(agent)"), "--json"]
                + (isFirst ? ["--categories", "World"] : []),
            environment: ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/listen.connection")],
            folder: scratch.path
        )
        try #require(agents[agent]?.isRunning == true, "\(agents[agent]?.errors ?? "")")
    }

    private func startAgents() async throws {
        for agent in agents.indices where agents[agent]?.isRunning != true { try await startAgent(agent) }
    }

    private func leave(_ away: [Int]) async {
        for agent in away {
            if Bool.random(using: &random) { await agents[agent]?.killNow() } else { await agents[agent]?.stop() }
        }
    }

    private func send() async throws -> [String] {
        var titles: [String] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            sent += 1
            titles.append("message \(sent)")
            try await send("message \(sent)")
        }
        return titles
    }

    private func send(_ title: String) async throws {
        let outcome = try await BuiltProgram.run(
            ["send", "--tags", "World", "--message", title],
            environment: ["NEWSWIRE_CONNECTION_FILE": scratch.file("hub/full.connection")]
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
    }

    /// Copies the database.
    ///
    /// - Returns: Puts the copy back, with the hub stopped.
    private func copy() async throws -> () async throws -> Void {
        let copy = scratch.file("copy")
        if Bool.random(using: &random) {
            let backup = try await BuiltProgram.run(["hub", "backup", copy] + state)
            #expect(backup.status == 0, "\(backup.errors)")
            return { [state] in
                let restore = try await BuiltProgram.run(["hub", "restore", copy] + state)
                #expect(restore.status == 0, "\(restore.errors)")
            }
        }
        await hub?.stop()
        try? FileManager.default.removeItem(atPath: copy)
        let database = scratch.file("hub/hub.sqlite")
        try FileManager.default.copyItem(atPath: database, toPath: copy)
        try await startHub()
        return {
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: database + suffix) }
            try FileManager.default.copyItem(atPath: copy, toPath: database)
        }
    }

    func stop() async {
        for agent in agents { await agent?.stop() }
        await hub?.stop()
    }

    // MARK: - What arrived

    private struct Row: Decodable {
        let id: String
        let kind: String
        let title: String
    }

    func checkWhatArrived() async throws {
        for agent in agents.indices {
            var rows: [Row] = []
            for _ in 0..<2_000 where !rows.contains(where: { $0.title == Self.last }) {
                let outcome = try await BuiltProgram.run([
                    "inbox", "--state", scratch.file("agent\(agent)"), "--json", "--last", "5000",
                ])
                rows = try outcome.output.split(separator: "\n").map {
                    try JSONDecoder().decode(Row.self, from: Data($0.utf8))
                }
            }
            let note = Comment(rawValue: "agent \(agent), seed \(seed): \(rows.map { "\($0.kind) \($0.title)" })")
            let titles = rows.filter { $0.kind == "message" }.map(\.title)
            let gone = Set(lost.joined())
            #expect(Set(titles).count == titles.count, note)
            #expect(titles.filter { !gone.contains($0) } == pending, note)
            #expect(rows.filter { $0.kind == "gap" }.count >= lost.count, note)
            try checkPlaces(rows, note)
        }
    }

    /// Each message that is missing was announced before what came after it was handed over: there are as many gaps by then
    /// as restores.
    private func checkPlaces(_ rows: [Row], _ note: Comment) throws {
        let arrived = Set(rows.map(\.title))
        func number(_ title: String) -> Int { title.split(separator: " ").last.flatMap { Int($0) } ?? .max }
        for (index, titles) in lost.enumerated() {
            for missing in titles where !arrived.contains(missing) {
                let next = rows.firstIndex { $0.kind == "message" && number($0.title) > number(missing) }
                let gaps = rows[..<(next ?? rows.endIndex)].count { $0.kind == "gap" }
                #expect(gaps > index, "\(missing): \(note)")
            }
        }
    }
}
