import Testing

@testable import ServerSentEvents

@Suite struct ServerSentEventTests {
    @Test(arguments: [
        ("data only", ServerSentEvent(data: "a"), "data: a\n\n"),
        (
            "all fields", ServerSentEvent(id: "e-1", event: "gap", data: "a", retry: 2_000),
            "retry: 2000\nid: e-1\nevent: gap\ndata: a\n\n"
        ),
        ("heartbeat", ServerSentEvent(id: "e-1"), "id: e-1\n\n"),
        ("lines", ServerSentEvent(data: "a\nb\r\nc\rd\n"), "data: a\ndata: b\ndata: c\ndata: d\ndata: \n\n"),
        ("empty data", ServerSentEvent(data: ""), "data: \n\n"),
        ("leading space survives", ServerSentEvent(data: " a"), "data:  a\n\n"),
        (
            "an event is given data, or nobody would see it", ServerSentEvent(event: "replaced"),
            "event: replaced\ndata: \n\n"
        ),
        (
            "no injected lines", ServerSentEvent(id: "1\n\ndata: x", event: "a\rb\0c", data: "d"),
            "id: 1data: x\nevent: abc\ndata: d\n\n"
        ),
        ("nothing", ServerSentEvent(), ""),
        ("negative retry", ServerSentEvent(retry: -1), ""),
    ])
    func `an event is written`(label: String, event: ServerSentEvent, expected: String) {
        #expect(String(decoding: event.encoded(), as: UTF8.self) == expected, "\(label)")
    }

    @Test(arguments: ["", "a", " a", "a\n\nb", "é😀", "\n", ":", "data: x"])
    func `what is written is read back`(data: String) throws {
        let event = ServerSentEvent(id: "é-1", event: "x", data: data, retry: 5)
        var decoder = ServerSentEventDecoder()
        #expect(try decoder.decode(event.encoded()) == [event])
        #expect(decoder.lastEventID == "é-1")
    }
}
