import Testing

@testable import ServerSentEvents

@Suite struct ServerSentEventDecoderTests {
    /// Every kind of line and line end, with characters of several bytes, behind a byte order mark.
    static let stream = """
        \u{FEFF}: hello\r\nretry: 2000\r\n\r\nid: e-1\rdata: é😀\rdata: b\r\revent: gap\ndata:{}\n\nid: e-2\n\n\
        data\n\n: comment\n\nid: a\0b\ndata: c\n\nunknown: x\ndata: d\nid\n\n
        """

    static let expected = [
        ServerSentEvent(retry: 2_000),
        ServerSentEvent(id: "e-1", data: "é😀\nb"),
        ServerSentEvent(event: "gap", data: "{}"),
        ServerSentEvent(id: "e-2"),
        ServerSentEvent(data: ""),
        ServerSentEvent(data: "c"),
        ServerSentEvent(id: "", data: "d"),
    ]

    @Test func `an id that is too long to be sent back is ignored, and its event is not`() throws {
        var decoder = ServerSentEventDecoder()
        let longest = String(repeating: "x", count: ServerSentEventDecoder.maximumIDBytes)
        let events = try decoder.decode(Array("id: \(longest)\ndata: a\n\nid: \(longest)y\ndata: b\n\n".utf8))
        #expect(events.map(\.id) == [longest, nil])
        #expect(events.map(\.data) == ["a", "b"])
        #expect(decoder.lastEventID == longest)
    }

    @Test func `a stream is read the same however it is cut in two`() throws {
        let bytes = Array((Self.stream + "\n").utf8)
        for cut in 0...bytes.count {
            var decoder = ServerSentEventDecoder()
            let events = try decoder.decode(bytes[..<cut]) + decoder.decode(bytes[cut...])
            #expect(events == Self.expected, "cut at \(cut)")
        }
    }

    @Test(arguments: [1, 2, 3, 5, 7])
    func `a stream is read the same in chunks of one size`(size: Int) throws {
        let bytes = Array((Self.stream + "\n").utf8)
        var decoder = ServerSentEventDecoder()
        var events: [ServerSentEvent] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            events += try decoder.decode(bytes[start..<min(start + size, bytes.count)])
        }
        #expect(events == Self.expected)
    }

    @Test func `the last event id outlives events without one and is emptied by an empty one`() throws {
        var decoder = ServerSentEventDecoder()
        _ = try decoder.decode("id: 1\ndata: a\n\ndata: b\n\n".utf8)
        #expect(decoder.lastEventID == "1")
        _ = try decoder.decode("id: 2\ndata: c\n".utf8)
        #expect(decoder.lastEventID == "1", "an id counts when its block is complete")
        _ = try decoder.decode("\nid\n\n".utf8)
        #expect(decoder.lastEventID == "")
    }

    @Test(arguments: [
        ("an unfinished block gives nothing", "data: a\n", [ServerSentEvent]()),
        ("an event name alone gives nothing", "event: x\n\n", []),
        ("only digits are a retry", "retry: 1s\n\nretry: -1\n\nretry:\n\n", []),
        ("a retry beyond any number is dropped", "retry: 99999999999999999999\n\n", []),
        ("one space only is dropped", "data:  a\n\n", [ServerSentEvent(data: " a")]),
        ("field names keep their case", "DATA: a\n\n", []),
        ("a byte order mark counts at the start only", "data: a\n\n\u{FEFF}data: b\n\n", [ServerSentEvent(data: "a")]),
        ("half a mark is text", "\u{FEFE}: a\ndata: b\n\n", [ServerSentEvent(data: "b")]),
    ])
    func `the format's corners`(label: String, text: String, expected: [ServerSentEvent]) throws {
        var decoder = ServerSentEventDecoder()
        #expect(try decoder.decode(text.utf8) == expected, "\(label)")
    }

    @Test func `bytes that are not UTF-8 become replacement characters`() throws {
        var decoder = ServerSentEventDecoder()
        #expect(try decoder.decode(Array("data: a".utf8) + [0xFF, 0x0A, 0x0A]) == [ServerSentEvent(data: "a\u{FFFD}")])
    }

    @Test func `an event above the limit ends the stream after the events before it`() throws {
        var decoder = ServerSentEventDecoder(maximumEventBytes: 20)
        let error = ServerSentEventError.eventTooLarge(limit: 20)
        #expect(try decoder.decode("data: 12345678901234\n\n".utf8).count == 1, "20 bytes fit")
        #expect(try decoder.decode("data: a\n\ndata: 123456789012345\n\n".utf8) == [ServerSentEvent(data: "a")])
        #expect(throws: error) { try decoder.decode("\n\n".utf8) }
        #expect(throws: error) { try decoder.decode("data: a\n\n".utf8) }
    }

    @Test func `the limit holds for many short lines but comments between them do not count`() throws {
        var decoder = ServerSentEventDecoder(maximumEventBytes: 20)
        #expect(try decoder.decode(": a comment of some\n: more\n: and more\ndata: a\n\n".utf8).count == 1)
        #expect(throws: ServerSentEventError.eventTooLarge(limit: 20)) {
            try decoder.decode("data: a\ndata: b\ndata: c\n".utf8)
        }
    }
}
