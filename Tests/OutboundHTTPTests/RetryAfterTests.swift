import Formats
import Testing

@testable import OutboundHTTP

@Suite struct RetryAfterTests {
    @Test(arguments: [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
        ("Sun Nov  6 08:49:37 1994", 784_111_777), ("Thu, 01 Jan 1970 00:00:00 GMT", 0),
        ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
    ])
    func `the three forms of an HTTP date are read`(_ text: String, _ seconds: Int64) {
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test(arguments: ["", "soon", "Sun, 06 Nov 1994", "32 Foo 1994 08:49:37", "Sun, 06 Nov 1994 25:00:00 GMT", "-5"])
    func `a text that is not a date is ignored`(_ text: String) {
        #expect(HTTPDate.seconds(text) == nil)
        #expect(OutboundHeaders([("Retry-After", text)]).retryAfter(now: 0) == nil)
    }

    @Test(arguments: [
        ("120", Duration.seconds(120)), ("0", .zero), ("99999999999999999999", .seconds(315_360_000)),
        ("Sun, 06 Nov 1994 08:49:37 GMT", .seconds(7)), ("Sun, 06 Nov 1994 08:49:00 GMT", .zero),
    ])
    func `a wait is read as seconds or until a date`(_ value: String, _ wait: Duration) {
        #expect(OutboundHeaders([("retry-after", value)]).retryAfter(now: 784_111_770) == wait)
    }
}
