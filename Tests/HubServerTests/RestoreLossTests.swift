import Foundation
import HubProtocol
import HubRouting
import HubStore
import ServerSentEvents
import StreamProbe
import Testing

@testable import HubServer

/// What agents get when the hub's database was replaced by an older copy of itself.
struct RestoreLossTests {
    /// How the copy was made and put back.
    enum Way: CaseIterable {
        case commands, declared, byHandWhileServing, byHandWhileStopped

        func copy(_ hub: TestHub?, _ scratch: Scratch) async throws {
            switch (self, hub) {
            case (.commands, let hub?): try HubBackup.copy(hub.databasePath, to: scratch.folder + "/older")
            case (.byHandWhileServing, let hub?): try await hub.backUp(to: scratch.folder + "/older")
            case (.byHandWhileStopped, nil), (.declared, nil): try scratch.copyHub(to: "older")
            default: break
            }
        }

        func restore(_ scratch: Scratch) throws {
            switch self {
            case .commands: _ = try HubBackup.restore(scratch.folder + "/older", to: scratch.path)
            case .byHandWhileServing, .byHandWhileStopped: try scratch.restoreHub(from: "older")
            case .declared:
                try scratch.restoreHub(from: "older")
                // A snapshot of the folder has the file of its time.
                try? FileManager.default.removeItem(atPath: scratch.folder + "/generation")
                try FileManager.default.copyItem(
                    atPath: scratch.folder + "/generation.older",
                    toPath: scratch.folder + "/generation"
                )
                try HubBackup.declareRestored(scratch.path)
            }
        }
    }

    @Test(arguments: Way.allCases)
    func `an agent that was away gets what is still held, and one gap instead of what is lost`(way: Way)
        async throws
    {
        let scratch = try Scratch()
        let (away, fresh) = (Agent("away"), Agent("fresh"))
        let cursor = try await TestHub.run(scratch) { hub in
            for agent in [away, fresh] { try await hub.register(agent) }
            try await hub.accept("read")
            let stream = try hub.probe(away)
            try await hub.settle([stream])
            stream.disconnect()
            try await hub.accept("held")
            try await way.copy(hub, scratch)
            if way == .commands || way == .byHandWhileServing { try await hub.accept("lost") }
            return try #require(stream.probe.cursor)
        }
        try await way.copy(nil, scratch)
        try? FileManager.default.copyItem(
            atPath: scratch.folder + "/generation",
            toPath: scratch.folder + "/generation.older"
        )
        if way == .byHandWhileStopped || way == .declared {
            try await TestHub.run(scratch) { hub in _ = try await hub.accept("lost") }
        }
        try way.restore(scratch)
        let later = Agent("later")
        try await TestHub.run(scratch) { hub in
            let stream = try hub.probe(away, after: cursor)
            try await hub.settle([stream])
            #expect(stream.probe.kinds == ["held", "gap"])
            let gap = try #require(try stream.probe.gaps.first)
            #expect(gap.reason.hasPrefix(EpochHistory.restored))
            #expect(gap.loss != nil)
            try await hub.register(later)
            try await hub.accept("new")
            try await hub.settle([stream])
            #expect(stream.probe.kinds == ["held", "gap", "new"])
            // Wherever the connection is lost, the gap comes once behind the cursor.
            for event in stream.probe.events.filter({ $0.id != nil }) {
                let again = try hub.probe(away, after: event.id)
                try await hub.settle([again])
                let isPast = StreamPosition(parsing: event.id ?? "")?.sequence ?? 0 >= gap.resumesAt.previous
                #expect(again.probe.names == (isPast ? [] : ["gap"]), "\(event.id ?? "")")
                if !isPast { #expect(try again.probe.gaps.map(\.loss) == [gap.loss]) }
            }
            let first = try hub.probe(fresh)
            let new = try hub.probe(later)
            try await hub.settle([first, new])
            #expect(first.probe.kinds == ["read", "held", "gap", "new"], "it never connected before")
            #expect(new.probe.kinds == ["new"], "it was made after the restore")
            let poll = try await hub.send(
                "GET",
                "installations/away/pending?wait=0",
                as: hub.listen,
                channel: away.secret,
                headers: [HeaderName.lastEventID: cursor]
            )
            #expect(poll.body.components(separatedBy: "event: gap").count == 2, "\(poll.body)")
        }
        // The next starts are ordinary ones.
        try await TestHub.run(scratch) { hub in
            let (old, fresh) = (try hub.probe(away, after: cursor), try hub.probe(later))
            try await hub.settle([old, fresh])
            #expect(old.probe.kinds == ["held", "gap", "new"])
            #expect(fresh.probe.kinds == ["new"])
            #expect(try await hub.hub.store.losses().count == 1)
        }
    }

    @Test func `no start announces a gap after a stop, or after a crash at any point`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a")
        var images = 0
        func image(_ name: String) throws {
            images += 1
            let folder = scratch.folder + "/image\(images)"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
            let files = try FileManager.default.contentsOfDirectory(atPath: scratch.folder)
            for file in files where !file.hasPrefix("image") {
                try FileManager.default.copyItem(atPath: "\(scratch.folder)/\(file)", toPath: "\(folder)/\(file)")
            }
        }
        for _ in 0..<3 {
            try await TestHub.run(scratch) { hub in
                // What a kill leaves behind right after the start, after a commit and after the file was counted on.
                try image("start")
                try await hub.register(agent)
                try await hub.accept("x")
                try image("commit")
                try await hub.service.housekeeping.countGeneration()
                try image("count")
                try await hub.accept("y")
                try image("after")
            }
        }
        for number in 1...images {
            let crashed = try Scratch(copying: scratch.folder + "/image\(number)")
            for _ in 0..<2 {
                try await TestHub.run(crashed) { hub in
                    let losses = try await hub.hub.store.losses()
                    #expect(losses == [], "image \(number)")
                }
            }
        }
    }

    @Test func `a crash or a full disk between the two writes is in order, and an older database is not`() {
        var database: Generation?
        var file = GenerationFile.Content.missing
        var copies: [Generation] = []
        for step in 0..<40 {
            #expect(GenerationFile.sign(of: database, file, isCopy: false) == nil, "\(step)")
            for copy in copies where file != .missing {
                // One that was made since the file last moved cannot be told.
                guard case .number(let number, _) = file, copy.number < number else { continue }
                #expect(GenerationFile.sign(of: copy, file, isCopy: false) == .olderThanFile, "\(step)")
            }
            let next = GenerationFile.next(after: database, file)
            // The disk takes neither, the database's alone, or both.
            if step % 5 == 3 { continue }
            database = next
            copies.append(next)
            if step % 3 == 1 { continue }
            file = .number(next.number, lineage: next.lineage)
        }
        #expect(copies.count > 10)
    }

    @Test(
        arguments: [
            (GenerationFile.Content.missing, GenerationFile.RestoreSign.fileMissing),
            (.unreadable, .fileUnreadable),
            (.number(7, lineage: "a"), nil),
            (.number(8, lineage: "a"), nil),
            (.number(9, lineage: "a"), .olderThanFile),
            (.number(6, lineage: "a"), .fileOlder),
            (.number(8, lineage: "b"), .otherLineage),
        ] as [(GenerationFile.Content, GenerationFile.RestoreSign?)]
    )
    func `what the file may hold beside a database`(
        content: GenerationFile.Content,
        sign: GenerationFile.RestoreSign?
    ) {
        let counted = Generation(lineage: "a", number: 8, inFile: 7)
        #expect(GenerationFile.sign(of: counted, content, isCopy: false) == sign)
        #expect(GenerationFile.sign(of: counted, content, isCopy: true) == .copy)
        // What is counted next is in order, written or not.
        let next = GenerationFile.next(after: counted, content)
        let written = GenerationFile.Content.number(next.number, lineage: next.lineage)
        #expect(GenerationFile.sign(of: next, written, isCopy: false) == nil)
        if content != .unreadable { #expect(GenerationFile.sign(of: next, content, isCopy: false) == nil) }
    }

    @Test func `a hub whose file cannot be written serves, and announces nothing`() async throws {
        let scratch = try Scratch()
        for _ in 0..<3 {
            try await TestHub.run(scratch, configure: { $0.generationPath = "/nonexistent/generation" }) { hub in
                _ = try await hub.accept("x")
                #expect(try await hub.hub.store.losses() == [])
            }
        }
    }

    @Test func `a database of a version before this one that is put back is noticed`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a")
        try await TestHub.run(scratch) { hub in try await hub.register(agent) }
        try await scratch.damage("DELETE FROM generation")
        try await TestHub.run(scratch) { hub in
            #expect(try await hub.hub.store.losses().count == 1)
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.kinds == ["gap"])
        }
    }

    @Test func `each restore is a gap of its own where messages came in between, else they are one`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a")
        try await TestHub.run(scratch) { hub in try await hub.register(agent) }
        for round in 1...3 {
            try HubBackup.declareRestored(scratch.path)
            try await TestHub.run(scratch) { hub in
                if round != 2 { _ = try await hub.accept("\(round)") }
            }
        }
        try await TestHub.run(scratch) { hub in
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.kinds == ["gap", "1", "gap", "3"])
        }
    }

    @Test func `who saw what a first restore lost, and is away for a second, gets a gap for each`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a")
        try await TestHub.run(scratch) { hub in
            try await hub.register(agent)
            try await hub.accept("held")
        }
        try scratch.copyHub(to: "older")
        // An epoch that the copy does not know.
        let cursor = try await TestHub.run(scratch) { hub in
            try await hub.accept("lost but seen")
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            return try #require(stream.probe.cursor)
        }
        try scratch.restoreHub(from: "older")
        try await TestHub.run(scratch) { hub in
            for title in ["1", "2"] { try await hub.accept(title) }
        }
        try scratch.copyHub(to: "newer")
        try await TestHub.run(scratch) { hub in _ = try await hub.accept("lost") }
        try scratch.restoreHub(from: "newer")
        try await TestHub.run(scratch) { hub in
            try await hub.accept("3")
            let stream = try hub.probe(agent, after: cursor)
            try await hub.settle([stream])
            #expect(stream.probe.kinds == ["gap", "held", "1", "2", "gap", "3"])
        }
    }

    @Test func `a loss before what the log still holds is forgotten with it`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a")
        try await TestHub.run(scratch) { hub in
            try await hub.register(agent)
            try await hub.accept("old")
        }
        try HubBackup.declareRestored(scratch.path)
        try await TestHub.run(scratch) { hub in
            let time = TestTime()
            try await hub.accept("old too")
            try await hub.pass(71 * 3600, of: time)
            try await hub.accept("young")
            try await hub.pass(2 * 3600, of: time)
            #expect(try await hub.hub.store.losses() == [])
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.kinds == ["gap", "young"], "the gap of what has expired covers it")
        }
    }

    @Test func `more than a page of what is held comes before the gap`() async throws {
        let scratch = try Scratch()
        let agent = Agent("a")
        let held = (1...Hub.pageMessages * 2).map { "\($0)" }
        try await TestHub.run(scratch) { hub in
            try await hub.register(agent)
            for title in held { try await hub.accept(title) }
        }
        try HubBackup.declareRestored(scratch.path)
        try await TestHub.run(scratch) { hub in
            try await hub.accept("new")
            let stream = try hub.probe(agent)
            try await hub.settle([stream])
            #expect(stream.probe.kinds == held + ["gap", "new"])
        }
    }
}

extension Probe {
    /// Titles of messages and names of other events, in order.
    fileprivate var kinds: [String] {
        events.compactMap { event in
            if let name = event.event { return name }
            return event.data.flatMap { try? StreamEvent(parsing: $0) }?.title
        }
    }
}

extension TestHub {
    fileprivate var databasePath: String { hub.configuration.databasePath }
}

extension Scratch {
    /// A folder with the files of another one.
    fileprivate convenience init(copying other: String) throws {
        try self.init()
        for file in try FileManager.default.contentsOfDirectory(atPath: other) {
            try FileManager.default.copyItem(atPath: "\(other)/\(file)", toPath: "\(folder)/\(file)")
        }
    }
}
