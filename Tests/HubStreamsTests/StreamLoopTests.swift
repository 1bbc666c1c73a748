import HubProtocol
import NIOCore
import NIOEmbedded
import ServerSentEvents
import Testing

@testable import HubServer

/// Time on one event loop.
struct StreamLoopTests {
    private let eventLoop = EmbeddedEventLoop()
    private let probe = Probe()
    private let ended = Kept<[Int64]>([])
    private let pages = Kept<[StreamLoop.PageRequest]>([])
    /// Seconds since 1970.
    private let clock = Kept<Int64>(1_000)

    private func loop(head: Int64) -> StreamLoop {
        StreamLoop(
            eventLoop: eventLoop,
            limits: StreamLimits(),
            encoding: EventEncoding(epoch: "e"),
            counters: HubCounters(),
            head: head,
            now: { [clock] in clock.value },
            requestPage: { [pages] page in pages.change { $0.append(page) } },
            detached: { [ended] _, _, written in ended.change { $0.append(written) } },
            noteProgress: { _ in }
        )
    }

    private func attach(
        to loop: StreamLoop,
        ordinal: Int64 = 1,
        after: Int64,
        through: Int64,
        needsReplay: Bool = false,
        isPoll: Bool = false,
        validUntil: Int64 = .max
    ) -> StreamSession {
        let session = StreamSession(loop: loop, output: probe, isPoll: isPoll)
        let attachment = StreamLoop.Attachment(
            ordinal: ordinal,
            cohort: 1,
            isHeavy: false,
            after: after,
            through: through,
            needsReplay: needsReplay,
            toldLoss: nil,
            prelude: EventEncoding.retry,
            validUntil: validUntil
        )
        loop.apply([.attach(session, attachment)])
        return session
    }

    private func entry(_ sequence: Int64) -> CohortEntries.Entry {
        .init(sequence: sequence, bytes: ByteBuffer(string: "id: e-\(sequence)\ndata: {}\n\n"))
    }

    @Test func `of many streams those that are asked for tell how far they are`() {
        let loop = loop(head: 5)
        let sessions = (1...3).map { attach(to: loop, ordinal: $0, after: $0, through: $0) }
        loop.apply([.head(9)])
        #expect(loop.positions(of: [2, 3, 7]) == [2: 9, 3: 9])
        #expect(sessions.map(\.cursor) == [5, 9, 9], "nobody else is touched")
    }

    @Test func `a quiet stream is written its position every fifteen seconds`() {
        let loop = loop(head: 5)
        loop.start()
        _ = attach(to: loop, after: 5, through: 5)
        eventLoop.advanceTime(by: .seconds(14))
        #expect(probe.events.count == 2, "the wish how long to wait, and where it begins")
        eventLoop.advanceTime(by: .seconds(1))
        #expect(probe.events.count == 3)
        #expect(probe.cursor == "e-5")
        // News of others moves the position of the next one.
        loop.apply([.head(9)])
        eventLoop.advanceTime(by: .seconds(14))
        #expect(probe.cursor == "e-5")
        eventLoop.advanceTime(by: .seconds(1))
        #expect(probe.cursor == "e-9")
        #expect(probe.events.last?.data == nil)
    }

    @Test func `a stream that was just written something is not quiet`() {
        let loop = loop(head: 5)
        loop.start()
        _ = attach(to: loop, after: 5, through: 5)
        eventLoop.advanceTime(by: .seconds(10))
        loop.apply([.cohortEvents(1, entry(6)), .head(6)])
        #expect(probe.cursor == "e-6")
        eventLoop.advanceTime(by: .seconds(14))
        #expect(probe.events.count == 3)
        eventLoop.advanceTime(by: .seconds(1))
        #expect(probe.events.count == 4)
    }

    @Test func `a stream is told at once when it has all that waited for it, and only then`() {
        let loop = loop(head: 50)
        let session = attach(to: loop, after: 5, through: 50, needsReplay: true)
        loop.receivePage(session, .init(bytes: entry(20).bytes, messages: 1, through: 20))
        #expect(probe.events.compactMap(\.id) == ["e-20"])
        // What comes meanwhile is no reason to wait.
        loop.apply([.cohortEvents(1, entry(51)), .head(51)])
        loop.receivePage(session, .init(bytes: entry(49).bytes, messages: 1, through: 50))
        #expect(probe.events.compactMap(\.id) == ["e-20", "e-49", "e-51", "e-51"])
        #expect(probe.events.last?.data == nil)
        loop.apply([.cohortEvents(1, entry(52)), .head(52)])
        #expect(probe.events.last?.data != nil)
    }

    @Test func `while pages are on their way the position is that of the last page`() {
        let loop = loop(head: 50)
        loop.start()
        let session = attach(to: loop, after: 5, through: 50, needsReplay: true)
        loop.receivePage(session, .init(bytes: nil, through: 20))
        eventLoop.advanceTime(by: .seconds(15))
        #expect(probe.cursor == "e-20")
        loop.receivePage(session, .init(bytes: nil, through: 50))
        eventLoop.advanceTime(by: .seconds(15))
        #expect(probe.cursor == "e-50")
        #expect(pages.value.map(\.after) == [5, 20])
    }

    @Test func `a stream that takes nothing for a minute is ended, an idle one is not`() {
        let loop = loop(head: 5)
        loop.start()
        _ = attach(to: loop, after: 5, through: 5)
        eventLoop.advanceTime(by: .minutes(5))
        #expect(!probe.isClosed)
        probe.take(false)
        loop.apply([.cohortEvents(1, entry(6)), .head(6)])
        eventLoop.advanceTime(by: .seconds(59))
        #expect(!probe.isClosed)
        eventLoop.advanceTime(by: .seconds(1))
        #expect(probe.isClosed)
        #expect(ended.value == [6])
    }

    @Test func `a stream ends within a second of its token's expiry, and the others go on`() {
        let loop = loop(head: 5)
        loop.start()
        let session = attach(to: loop, after: 5, through: 5, validUntil: 1_060)
        let other = attach(to: loop, ordinal: 2, after: 5, through: 5, validUntil: 1_061)
        clock.change { $0 = 1_059 }
        eventLoop.advanceTime(by: .seconds(1))
        #expect(!session.hasEnded)
        clock.change { $0 = 1_060 }
        eventLoop.advanceTime(by: .seconds(1))
        #expect(session.hasEnded && session.ending == .expired)
        #expect(!other.hasEnded)
        #expect(probe.names.isEmpty, "the agent is told nothing that it would report")
        #expect(ended.value == [5])
    }

    @Test func `a poll is not cut short by its token's expiry`() {
        let loop = loop(head: 5)
        loop.start()
        let session = attach(to: loop, after: 5, through: 5, isPoll: true, validUntil: 900)
        eventLoop.advanceTime(by: .seconds(2))
        #expect(!session.hasEnded)
    }

    @Test(arguments: [true, false])
    func `a poll that has ended is kept by nothing`(wasLetIn: Bool) {
        let loop = loop(head: 5)
        loop.start()
        weak var gone: StreamSession?
        weak var output: BodyOutput?
        do {
            let body = BodyOutput()
            let session = StreamSession(loop: loop, output: body, isPoll: true)
            body.serve(session)
            (gone, output) = (session, body)
            if wasLetIn {
                let attachment = StreamLoop.Attachment(
                    ordinal: 1,
                    cohort: 1,
                    isHeavy: false,
                    after: 5,
                    through: 5,
                    needsReplay: false,
                    toldLoss: nil,
                    prelude: EventEncoding.retry
                )
                loop.apply([.attach(session, attachment)])
                loop.beat(session, in: .seconds(60))
                body.end()
            } else {
                loop.apply([.refuse(session, .noInstallation)])
            }
            eventLoop.run()
        }
        #expect(gone == nil && output == nil)
        #expect(loop.census.open == 0)
    }

    @Test func `a stream that changes its cohort while something waits reads on in the store`() {
        let loop = loop(head: 5)
        let session = attach(to: loop, after: 5, through: 5)
        probe.take(false)
        loop.apply([.cohortEvents(1, entry(6)), .head(6)])
        loop.apply([
            .cohortEvents(1, entry(7)), .move(session, cohort: 2, isHeavy: false, at: 8), .cohortEvents(2, entry(9)),
            .head(9),
        ])
        #expect(pages.value.isEmpty, "it takes nothing yet")
        probe.take(true)
        session.outputIsReady()
        #expect(pages.value.map(\.after) == [6])
        #expect(pages.value.map(\.through) == [8])
        loop.receivePage(session, .init(bytes: entry(7).bytes, messages: 1, through: 8))
        #expect(probe.events.filter { $0.data != nil }.compactMap(\.id) == ["e-6", "e-7", "e-9"])
    }
}
