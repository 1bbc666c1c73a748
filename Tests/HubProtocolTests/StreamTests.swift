import Foundation
import Testing

@testable import HubProtocol

@Suite struct StreamTests {
    @Test func `a place in the log is ordered, has a next one, and is a bare number in JSON`() throws {
        let place = LogSequence(rawValue: 41)
        #expect(place < place.next && place.next.rawValue == 42)
        let json = try JSONEncoder().encode([LogSequence.start, place])
        #expect(String(decoding: json, as: UTF8.self) == "[0,41]")
        #expect(try JSONDecoder().decode([LogSequence].self, from: json) == [.start, place])
    }

    @Test func `a position has one spelling`() {
        let position = StreamPosition(epoch: "a1", sequence: 42)
        #expect(position.text == "a1-42")
        #expect(StreamPosition(parsing: "a1-42") == position)
    }

    @Test(arguments: [
        "", "-", "a-", "-1", "a", "42", "a-01", "a-+1", "a--1", "a-1 ", "a b-1", "a-1x", "a-9223372036854775808", "é-1",
        String(repeating: "a", count: 65) + "-1", "a-١",
    ])
    func `anything else is refused as a position`(text: String) {
        #expect(StreamPosition(parsing: text) == nil)
    }

    @Test func `an event travels on one line and comes back`() throws {
        let body = "{ \"a\" :\r\n [1.50,\n\"\\n\"] }"
        let event = StreamEvent(id: try MessageID("m-1"), template: "t \"x\"", body: body)
        let text = event.encoded()
        #expect(text == #"{"id":"m-1","template":"t \"x\"","body":{ "a" :   [1.50, "\n"] }}"#)
        let read = try StreamEvent(parsing: text)
        #expect(read.id == event.id && read.template == event.template)
        #expect(read.body == #"{ "a" :   [1.50, "\n"] }"#)
    }

    @Test(arguments: [
        "", "[]", "{}", #"{"id":"a","template":"t"}"#, #"{"id":"a","template":"t","body":"x"}"#,
        #"{"id":1,"template":"t","body":{}}"#,
        #"{"id":"a b","template":"t","body":{}}"#, #"{"id":"a","template":"t","body":{}"#,
    ])
    func `an event that lacks a part is refused`(text: String) {
        #expect(throws: ProtocolError.self) { try StreamEvent(parsing: text) }
    }

    @Test func `unknown members of an event are passed over`() throws {
        #expect(try StreamEvent(parsing: #"{"x":1,"body":{},"template":"","id":"a"}"#).body == "{}")
    }
}
