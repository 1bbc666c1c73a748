import HubProtocol
import NIOCore
import NIOEmbedded
import ServerSentEvents
import StreamProbe
import Testing

@testable import HubRouting
@testable import HubStreams

/// Time on one event loop.
struct StreamLoopTests {
    private let eventLoop = EmbeddedEventLoop()
    private let probe = Probe()
    private let ended = Kept<[LogSequence]>([])
    private let endings = Kept<[StreamEnd?]>([])
    private let pages = Kept<[StreamPageRequest]>([])
    private let times = Kept<[LogSequence: StreamTimes]>([:])
    /// Milliseconds since 1970.
    private let clock = Kept<Timestamp>(1_000_000)

    private func loop(head: LogSequence, limits: StreamLimits = StreamLimits()) -> StreamLoop {
        let host = StreamHost(
            now: { [clock] in clock.value },
            post: { [ended, endings] input in
                guard case .detached(_, _, let written, let ending, _) = input else { return }
                ended.change { $0.append(written) }
                endings.change { $0.append(ending) }
            },
            requestPage: { [pages] page in pages.change { $0.append(page) } },
            noteOversize: { _ in },
            noteWritten: { [times] sequence, written in times.change { $0[sequence] = written } }
        )
        return StreamLoop(
            eventLoop: eventLoop,
            index: 0,
            limits: limits,
            reserved: .standard,
            encoding: EventEncoding(epoch: "e"),
            counters: StreamCounters(),
            head: head,
            host: host
        )
    }

    private func recipient(_ tag: String) throws -> Recipient {
        try Recipient(
            Installation(
                id: InstallationID("a"),
                platform: .stream,
                pushChannel: nil,
                tags: [Tag(tag)],
                templates: [AgentTemplate.name: InstallationTemplate(body: AgentTemplate.body)]
            )
        )
    }

    private func attachment(
        ordinal: Ordinal = 1,
        tag: String = "World",
        after: LogSequence,
        through: LogSequence,
        needsReplay: Bool = false,
        validUntil: Int64 = .max
    ) throws -> StreamAttachment {
        StreamAttachment(
            ordinal: ordinal,
            recipient: try recipient(tag),
            beginning: StreamBeginning(.resume(after: after), cursor: nil),
            through: through,
            needsReplay: needsReplay,
            validUntil: validUntil
        )
    }

    private func attach(
        to loop: StreamLoop,
        _ output: Probe? = nil,
        ordinal: Ordinal = 1,
        tag: String = "World",
        after: LogSequence,
        through: LogSequence,
        needsReplay: Bool = false,
        isPoll: Bool = false,
        validUntil: Int64 = .max
    ) throws -> StreamSession {
        let session = loop.open(output ?? probe, isPoll: isPoll)
        let attachment = try attachment(
            ordinal: ordinal,
            tag: tag,
            after: after,
            through: through,
            needsReplay: needsReplay,
            validUntil: validUntil
        )
        loop.apply([.attach(session.id, attachment)])
        return session
    }

    private func message(_ sequence: LogSequence, tag: String = "World") throws -> RoutedMessage {
        let message = try Message(
            audience: .matching(TagExpression(parsing: tag)),
            body: MessageProperties(["title": "m\(sequence)"]).encoded()
        )
        return RoutedMessage(sequence: sequence, id: .random(), message, installations: nil)
    }

    /// What a page holds of a message.
    private func bytes(_ sequence: LogSequence) -> ByteBuffer { ByteBuffer(string: "id: e-\(sequence)\ndata: {}\n\n") }

    @Test func `the time of a message ends with the last stream that was open when it came`() throws {
        let loop = loop(head: 5)
        let (slow, late) = (Probe(), Probe())
        _ = try attach(to: loop, after: 5, through: 5)
        let session = try attach(to: loop, slow, ordinal: 2, after: 5, through: 5)
        slow.take(false)
        var early = try message(6)
        early.acceptedAt = clock.value - .milliseconds(40)
        loop.apply([.publish(early), .head(6)])
        eventLoop.advanceTime(by: .milliseconds(1))
        // The write of the first message has filled the slow stream.
        #expect(times.value.keys.sorted() == [6])
        #expect(times.value[6]?.first ?? .zero >= .milliseconds(40) && times.value[6]?.last ?? .zero < .seconds(1))
        loop.apply([.publish(try message(7)), .head(7)])
        eventLoop.advanceTime(by: .seconds(2))
        #expect(times.value[7] == nil, "one stream lacks it")
        // A stream that comes later needs pages for what it lacks, and is not waited for.
        _ = try attach(to: loop, late, ordinal: 3, after: 5, through: 7, needsReplay: true)
        slow.take(true)
        session.outputIsReady()
        let written = try #require(times.value[7])
        #expect(written.first < .milliseconds(100) && written.last >= .seconds(2))
        loop.apply([.publish(try message(8, tag: "Sports")), .head(8)])
        eventLoop.advanceTime(by: .seconds(1))
        #expect(times.value[8] == nil, "nobody gets it")
    }

    @Test func `a stream that ends is no longer waited for, and one that never got a message has no time`() throws {
        let loop = loop(head: 5)
        let slow = Probe()
        let session = try attach(to: loop, slow, ordinal: 2, after: 5, through: 5)
        slow.take(false)
        loop.apply([.publish(try message(6)), .publish(try message(7)), .head(7)])
        eventLoop.advanceTime(by: .milliseconds(1))
        loop.apply([.publish(try message(8)), .head(8)])
        eventLoop.advanceTime(by: .milliseconds(1))
        session.outputHasEnded()
        #expect(times.value.keys.sorted() == [6, 7])
        // With other streams of the choice, its last write is the last one.
        _ = try attach(to: loop, after: 8, through: 8)
        let other = try attach(to: loop, slow, ordinal: 4, after: 8, through: 8)
        loop.apply([.publish(try message(9)), .head(9)])
        eventLoop.advanceTime(by: .milliseconds(1))
        loop.apply([.publish(try message(10)), .head(10)])
        eventLoop.advanceTime(by: .seconds(3))
        #expect(times.value[10] == nil)
        other.outputHasEnded()
        #expect(try #require(times.value[10]).last < .seconds(1))
    }

    @Test func `a stream that takes little does not keep later messages from being measured`() throws {
        let loop = loop(head: 5)
        let slow = Probe()
        _ = try attach(to: loop, after: 5, through: 5)
        _ = try attach(to: loop, slow, ordinal: 2, after: 5, through: 5)
        slow.take(false)
        let count = LogSequence(rawValue: Int64(UnwrittenMessages.maximum))
        for number in 6...(count.rawValue + 8) {
            let sequence = LogSequence(rawValue: number)
            loop.apply([.publish(try message(sequence)), .head(sequence)])
            eventLoop.advanceTime(by: .milliseconds(1))
        }
        // The slow stream has the first one; the next ones are given up one by one.
        #expect(times.value.keys.sorted() == [6, 7, 8])
        let givenUp = try #require(times.value[7])
        #expect(givenUp.first < .milliseconds(100) && givenUp.last >= .milliseconds(UnwrittenMessages.maximum))
        #expect(loop.cohorts.inOrder().allSatisfy { $0.unwritten.count == UnwrittenMessages.maximum })
    }

    @Test func `of many streams those that are asked for tell how far they are`() throws {
        let loop = loop(head: 5)
        let sessions = try (1...3).map { number in
            try attach(
                to: loop,
                ordinal: Ordinal(rawValue: number),
                after: LogSequence(rawValue: number),
                through: LogSequence(rawValue: number)
            )
        }
        loop.apply([.head(9)])
        #expect(loop.positions(of: [2, 3, 7]) == [2: 9, 3: 9])
        #expect(sessions.map(\.cursor) == [5, 9, 9], "nobody else is touched")
    }

    @Test func `a quiet stream is written its position every fifteen seconds`() throws {
        let loop = loop(head: 5)
        loop.start()
        _ = try attach(to: loop, after: 5, through: 5)
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

    @Test func `a stream that was just written something is not quiet`() throws {
        let loop = loop(head: 5)
        loop.start()
        _ = try attach(to: loop, after: 5, through: 5)
        eventLoop.advanceTime(by: .seconds(10))
        loop.apply([.publish(try message(6)), .head(6)])
        #expect(probe.cursor == "e-6")
        eventLoop.advanceTime(by: .seconds(14))
        #expect(probe.events.count == 3)
        eventLoop.advanceTime(by: .seconds(1))
        #expect(probe.events.count == 4)
    }

    @Test func `a stream learns at once when it has all that waited for it, and only then`() throws {
        let loop = loop(head: 50)
        let session = try attach(to: loop, after: 5, through: 50, needsReplay: true)
        loop.receive(StreamPage(bytes: bytes(20), messages: 1, through: 20), for: session.id)
        #expect(probe.events.compactMap(\.id) == ["e-20"])
        // What comes meanwhile is no reason to wait.
        loop.apply([.publish(try message(51)), .head(51)])
        loop.receive(StreamPage(bytes: bytes(49), messages: 1, through: 50), for: session.id)
        #expect(probe.events.compactMap(\.id) == ["e-20", "e-49", "e-51", "e-51"])
        #expect(probe.events.last?.data == nil)
        loop.apply([.publish(try message(52)), .head(52)])
        #expect(probe.events.last?.data != nil)
    }

    @Test func `while pages are on their way the position is that of the last page`() throws {
        let loop = loop(head: 50)
        loop.start()
        let session = try attach(to: loop, after: 5, through: 50, needsReplay: true)
        loop.receive(StreamPage(bytes: nil, through: 20), for: session.id)
        eventLoop.advanceTime(by: .seconds(15))
        #expect(probe.cursor == "e-20")
        loop.receive(StreamPage(bytes: nil, through: 50), for: session.id)
        eventLoop.advanceTime(by: .seconds(15))
        #expect(probe.cursor == "e-50")
        #expect(pages.value.map(\.after) == [5, 20])
    }

    @Test func `a stream that takes nothing for a minute is ended, an idle one is not`() throws {
        let loop = loop(head: 5)
        loop.start()
        _ = try attach(to: loop, after: 5, through: 5)
        eventLoop.advanceTime(by: .minutes(5))
        #expect(!probe.isClosed)
        probe.take(false)
        loop.apply([.publish(try message(6)), .head(6)])
        eventLoop.advanceTime(by: .seconds(59))
        #expect(!probe.isClosed)
        eventLoop.advanceTime(by: .seconds(1))
        #expect(probe.isClosed)
        #expect(ended.value == [6])
    }

    @Test func `a stream ends within a second of its token's expiry, and the others go on`() throws {
        let loop = loop(head: 5)
        loop.start()
        let session = try attach(to: loop, after: 5, through: 5, validUntil: 1_060)
        let other = try attach(to: loop, ordinal: 2, after: 5, through: 5, validUntil: 1_061)
        clock.change { $0 = 1_059_000 }
        eventLoop.advanceTime(by: .seconds(1))
        #expect(!session.hasEnded)
        clock.change { $0 = 1_060_000 }
        eventLoop.advanceTime(by: .seconds(1))
        #expect(session.hasEnded && endings.value == [.expired])
        #expect(!other.hasEnded)
        #expect(probe.names.isEmpty, "the agent is told nothing that it would report")
        #expect(ended.value == [5])
    }

    @Test func `a poll is not cut short by its token's expiry`() throws {
        let loop = loop(head: 5)
        loop.start()
        let session = try attach(to: loop, after: 5, through: 5, isPoll: true, validUntil: 900)
        eventLoop.advanceTime(by: .seconds(2))
        #expect(!session.hasEnded)
    }

    @Test(arguments: [true, false])
    func `a poll that has ended is kept by nothing`(wasLetIn: Bool) throws {
        let loop = loop(head: 5)
        loop.start()
        weak var gone: StreamSession?
        weak var output: BodyOutput?
        do {
            let body = BodyOutput()
            let session = loop.open(body, isPoll: true)
            body.serve(session)
            (gone, output) = (session, body)
            if wasLetIn {
                loop.apply([.attach(session.id, try attachment(after: 5, through: 5))])
                loop.beat(session, in: .seconds(60))
                body.end()
            } else {
                loop.apply([.refuse(session.id, .noInstallation)])
            }
            eventLoop.run()
        }
        #expect(gone == nil && output == nil)
        #expect(loop.census.open == 0)
    }

    @Test func `a stream that changes its cohort while something waits reads on in the store`() throws {
        let loop = loop(head: 5)
        let session = try attach(to: loop, after: 5, through: 5)
        probe.take(false)
        loop.apply([.publish(try message(6)), .head(6)])
        loop.apply([
            .publish(try message(7)), .move(session.id, try recipient("Sports"), at: 8),
            .publish(try message(9, tag: "Sports")),
            .head(9),
        ])
        #expect(pages.value.isEmpty, "it takes nothing yet")
        probe.take(true)
        session.outputIsReady()
        #expect(pages.value.map(\.after) == [6])
        #expect(pages.value.map(\.through) == [8])
        loop.receive(StreamPage(bytes: bytes(7), messages: 1, through: 8), for: session.id)
        #expect(probe.events.filter { $0.data != nil }.compactMap(\.id) == ["e-6", "e-7", "e-9"])
    }

    @Test func `between slices of rendering the loop does what else it has to do`() throws {
        let loop = loop(head: 0)
        let count = 2_000
        let probes = (0..<count).map { _ in Probe() }
        for (number, probe) in probes.enumerated() {
            _ = try attach(
                to: loop,
                probe,
                ordinal: Ordinal(rawValue: Int64(number + 1)),
                tag: "t\(number)",
                after: 0,
                through: 0
            )
            eventLoop.advanceTime(by: .milliseconds(1))
        }
        let body = MessageProperties(["title": "all"]).encoded()
        let all = RoutedMessage(sequence: 1, id: .random(), try Message(body: body), installations: nil)
        let others = Kept(0)
        let turns = eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .microseconds(20)) { _ in
            others.change { $0 += 1 }
        }
        loop.apply([.publish(all), .head(1)])
        #expect(probes.count { !$0.titles.isEmpty } == 0, "the first slice renders for some")
        eventLoop.advanceTime(by: .milliseconds(10))
        turns.cancel()
        #expect(probes.count { $0.titles == ["all"] } == count)
        #expect(others.value >= count / 128)
    }

    @Test func `a slice is smaller while messages come, and the other streams get all of them in one write`() throws {
        let loop = loop(head: 0)
        let probes = (0..<400).map { _ in Probe() }
        for (number, probe) in probes.enumerated() {
            let ordinal = Ordinal(rawValue: Int64(number + 1))
            _ = try attach(to: loop, probe, ordinal: ordinal, after: 0, through: 0)
        }
        let before = probes.map(\.writes)
        func reached() -> Int { probes.count { !$0.titles.isEmpty } }
        loop.apply([.publish(try message(1)), .head(1)])
        let first = reached()
        loop.apply([.publish(try message(2)), .head(2)])
        eventLoop.advanceTime(by: .microseconds(20))
        let second = reached() - first
        #expect(first > 0 && second > 0 && second < first && first + second < probes.count)
        eventLoop.advanceTime(by: .milliseconds(10))
        #expect(probes.count { $0.titles == ["m1", "m2"] } == probes.count)
        let writes = zip(probes, before).map { $0.writes - $1 }
        #expect(writes.count { $0 == 1 } == probes.count - first)
    }

    @Test func `a stream that is revoked ends before messages that are yet to be rendered`() throws {
        let loop = loop(head: 0)
        let session = try attach(to: loop, after: 0, through: 0)
        for number in 2...500 {
            _ = try attach(
                to: loop,
                Probe(),
                ordinal: Ordinal(rawValue: Int64(number)),
                tag: "t\(number)",
                after: 0,
                through: 0
            )
        }
        eventLoop.advanceTime(by: .milliseconds(10))
        let message = RoutedMessage(sequence: 1, id: .random(), try Message(body: Array("{}".utf8)), installations: nil)
        loop.apply([.publish(message), .head(1), .end(session.id, .revoked)])
        #expect(probe.isClosed && probe.names == [StreamEventName.revoked])
        #expect(endings.value == [.revoked])
    }

    @Test func `messages beyond what may wait are read from the store, also by streams that come meanwhile`() throws {
        var limits = StreamLimits()
        limits.waitingMessages = 10
        let loop = loop(head: 0, limits: limits)
        let (first, second) = (try attach(to: loop, after: 0, through: 0), Probe())
        let late = loop.open(second)
        var commands = try (1...20).map { StreamCommand.publish(try message(LogSequence(rawValue: $0))) }
        commands.insert(.attach(late.id, try attachment(ordinal: 2, after: 10, through: 10)), at: 10)
        loop.apply(commands + [.head(20)])
        eventLoop.advanceTime(by: .milliseconds(1))
        #expect(probe.titles.isEmpty && second.titles.isEmpty)
        #expect(pages.value.map(\.ordinal).sorted() == [1, 2])
        #expect(pages.value.sorted { $0.ordinal < $1.ordinal }.map(\.after) == [0, 10])
        #expect(pages.value.map(\.through) == [20, 20])
        for session in [first, late] { loop.receive(StreamPage(bytes: nil, through: 20), for: session.id) }
        loop.apply([.publish(try message(21)), .head(21)])
        #expect(probe.titles == ["m21"] && second.titles == ["m21"])
    }

    @Test func `a closed loop refuses who waits and who comes`() throws {
        let loop = loop(head: 0)
        let waiting = loop.open(probe)
        loop.close(.noInstallation)
        #expect(probe.refusal?.status == 404 && waiting.hasEnded)
        let output = Probe()
        let late = loop.open(output)
        eventLoop.run()
        #expect(output.refusal?.status == 404 && late.hasEnded)
    }

    @Test(arguments: [true, false])
    func `a stream whose cohort's log was dropped for others reads from the store what it lacks`(isAsked: Bool) throws {
        var limits = StreamLimits()
        limits.totalBytes = 1_024
        let loop = loop(head: 5, limits: limits)
        let other = Probe()
        for output in [probe, other] { output.take(false) }
        let session = try attach(to: loop, after: 5, through: 5)
        let neighbour = try attach(to: loop, other, ordinal: 2, tag: "Sports", after: 5, through: 5)
        eventLoop.advanceTime(by: .milliseconds(1))
        // The largest logs go first: both do in the end, one of them with messages that come after the drop.
        for number in 6...40 as ClosedRange<Int64> {
            let sequence = LogSequence(rawValue: number)
            let tag = number.isMultiple(of: 2) ? "World" : "Sports"
            loop.apply([.publish(try message(sequence, tag: tag)), .head(sequence)])
            eventLoop.advanceTime(by: .milliseconds(1))
        }
        if isAsked { #expect(loop.positions(of: [1, 2]) == [1: 5, 2: 5]) }
        for (output, session) in [(probe, session), (other, neighbour)] {
            output.take(true)
            session.outputIsReady()
        }
        #expect(pages.value.map(\.after) == [5, 5])
        #expect(pages.value.allSatisfy { $0.through >= 39 } == true)
    }
}
