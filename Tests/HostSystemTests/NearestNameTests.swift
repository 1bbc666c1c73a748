import HostSystem
import Testing

@Suite struct NearestNameTests {
    @Test(arguments: [
        ("prot", "port"), ("PORT", "port"), ("time-to-life", "time-to-live"), ("logsize", "log-size"),
        ("colour", nil), ("", nil), ("xyzzy", nil),
    ])
    func `a slip of the finger is guessed, and what is far off is not`(typed: String, nearest: String?) {
        #expect(NearestName.of(typed, among: ["port", "log-size", "time-to-live", "listen"]) == nearest)
        #expect(NearestName.of(typed, among: []) == nil)
    }
}
