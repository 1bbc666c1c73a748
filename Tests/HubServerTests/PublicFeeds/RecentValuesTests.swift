import Testing

@testable import HubServer

/// Values in memory, within bounds.
struct RecentValuesTests {
    @Test func `the value that was not used for longest goes first`() {
        var values = RecentValues<String, Int>(maximumCount: 2, maximumBytes: 100)
        values.keep(1, bytes: 10, for: "a")
        values.keep(2, bytes: 10, for: "b")
        values.use("a")
        values.keep(3, bytes: 10, for: "c")
        #expect(values["a"] == 1 && values["b"] == nil && values["c"] == 3)
        #expect(values.count == 2 && values.bytes == 20)
    }

    @Test func `the sum of bytes follows what is added, replaced and dropped`() {
        var values = RecentValues<Int, Int>(maximumCount: 100, maximumBytes: 1_000)
        for number in 0..<10 { values.keep(number, bytes: 100, for: number) }
        #expect(values.bytes == 1_000 && values.count == 10)
        values.keep(-1, bytes: 50, for: 3)
        #expect(values.bytes == 950 && values[3] == -1)
        values.keep(10, bytes: 250, for: 10)
        // Of 1,200 bytes the two oldest went.
        #expect(values.bytes == 1_000 && values.count == 9 && values[0] == nil && values[1] == nil && values[2] == 2)
        values.use(99)
        #expect(values[99] == nil && values.count == 9)
    }

    @Test func `a value that is larger than all room is kept alone`() {
        var values = RecentValues<Int, Int>(maximumCount: 10, maximumBytes: 100)
        values.keep(1, bytes: 60, for: 1)
        values.keep(2, bytes: 500, for: 2)
        #expect(values.count == 1 && values[2] == 2 && values.bytes == 500)
        values.keep(3, bytes: 40, for: 3)
        #expect(values.count == 1 && values[3] == 3 && values.bytes == 40)
    }
}
