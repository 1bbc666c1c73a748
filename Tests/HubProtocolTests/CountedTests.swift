import HubProtocol
import Testing

@Suite struct CountedTests {
    @Test func `a number has the singular only if it is one`() {
        #expect([0, 1, 2].map { Counted.text($0, "message") } == ["0 messages", "1 message", "2 messages"])
        #expect([1, 2].map { Counted.text($0, "entry", "entries") } == ["1 entry", "2 entries"])
        #expect([1, 2].map { Counted.times($0) } == ["once", "2 times"])
    }
}
