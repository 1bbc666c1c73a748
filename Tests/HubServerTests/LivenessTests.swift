import Dispatch
import Foundation
import HubProtocol
import HubRouting
import HubStore
import Logging
import NIOCore
import NIOPosix
import Synchronization
import Testing

import class HubTestServer.Signal

@testable import HubServer

@Suite struct LivenessTests {
    /// What happened, in order.
    private final class Record: Sendable {
        private let lines = Mutex<[String]>([])
        let beats: AsyncStream<Void>
        private let beat: AsyncStream<Void>.Continuation

        init() { (beats, beat) = AsyncStream.makeStream() }

        func note(_ line: String) { lines.withLock { $0.append(line) } }

        func noteBeat() {
            note("beat")
            beat.yield()
        }

        var all: [String] { lines.withLock { $0 } }
    }

    private static func writer(
        in folder: URL,
        onProgress: @escaping @Sendable () -> Void = {}
    ) throws -> HubWriter {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let store = try HubStore(path: folder.appending(component: "hub.sqlite").path)
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let machine = NamespaceMachine.of(HubRecord(id: 1, name: try HubName("news")))
        return HubWriter(store: store, machine: machine, logger: logger, onProgress: onProgress) { $2() }
    }

    private static func scratch() -> URL {
        FileManager.default.temporaryDirectory.appending(component: "liveness-\(UUID().uuidString)")
    }

    @Test func `a beat comes after what the writer and each event loop had to do`() async throws {
        let folder = Self.scratch()
        defer { try? FileManager.default.removeItem(at: folder) }
        let writer = try Self.writer(in: folder)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let record = Record()
        let gate = DispatchSemaphore(value: 0)
        writer.whenReached { record.note("writer") }
        group.next().execute {
            gate.wait()
            record.note("loop")
        }
        let liveness = Liveness(
            watchdog: HubWatchdog(interval: .milliseconds(1)) { record.noteBeat() },
            writer: writer,
            eventLoops: [group.next()]
        )
        let beating = Task { try await liveness.run() }
        let writing = Task { try await writer.run() }
        gate.signal()
        var beats = record.beats.makeAsyncIterator()
        for _ in 1...3 { _ = await beats.next() }
        #expect(Set(record.all.prefix(2)) == ["writer", "loop"])
        #expect(record.all[2] == "beat")
        beating.cancel()
        writing.cancel()
        try await beating.value
        try await writing.value
        try await group.shutdownGracefully()
    }

    @Test(.timeLimit(.minutes(10)))
    func `with a writer that hangs there is no beat, and a stop does not wait for it`() async throws {
        let folder = Self.scratch()
        defer { try? FileManager.default.removeItem(at: folder) }
        let record = Record()
        let progress = Signal()
        let writer = try Self.writer(in: folder) { progress.notify() }
        let liveness = Liveness(
            watchdog: HubWatchdog(interval: .milliseconds(1)) { record.noteBeat() },
            writer: writer,
            eventLoops: []
        )
        // A writer that is not run does nothing, like one that hangs.
        let beating = Task { try await liveness.run() }
        let isWaiting = await progress.wait(atMost: .seconds(60)) { writer.backlog.events > 0 }
        try #require(isWaiting, "the beat does not wait for the writer")
        #expect(record.all.isEmpty)
        beating.cancel()
        try await beating.value
        #expect(record.all.isEmpty)
    }
}
