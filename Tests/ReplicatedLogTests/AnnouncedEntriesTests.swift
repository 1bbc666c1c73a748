import Testing

@testable import ReplicatedLog

struct AnnouncedEntriesTests {
    private func numbers(_ announced: AnnouncedEntries, from number: UInt64, limit: Int = 10) -> [UInt64] {
        announced.entries(from: number, limit: limit).map(\.number)
    }

    @Test func `entries are given up to the first that is missing`() {
        let announced = AnnouncedEntries()
        for number: UInt64 in [3, 5, 4, 7] { announced.add(number, [UInt8(number)]) }
        #expect(numbers(announced, from: 2) == [])
        #expect(announced.entries(from: 3, limit: 10).map(\.data) == [[3], [4], [5]])
        #expect(numbers(announced, from: 3, limit: 2) == [3, 4])
        #expect(numbers(announced, from: 4) == [4, 5])
        #expect(numbers(announced, from: 3) == [], "earlier entries are forgotten")
        #expect(numbers(announced, from: 7) == [7])
    }

    @Test func `the end is known as long as no announcement can be missing`() {
        let announced = AnnouncedEntries()
        announced.add(4, [4])
        #expect(announced.end == nil)
        announced.trust()
        announced.note(end: 3)
        #expect(announced.end == 4)
        announced.add(5, nil)
        #expect(announced.end == 5)
        #expect(numbers(announced, from: 5) == [], "a node has its own entries")
        announced.doubt()
        #expect(announced.end == nil)
        #expect(announced.last == 5)
    }

    @Test func `a node that does not read keeps a bounded number of bytes`() {
        let announced = AnnouncedEntries()
        let megabyte = [UInt8](repeating: 1, count: 1 << 20)
        for number: UInt64 in 1...20 { announced.add(number, megabyte) }
        #expect(numbers(announced, from: 1, limit: 64) == Array(1...8))
        #expect(announced.last == 20)
        announced.add(1, megabyte)
        #expect(numbers(announced, from: 9, limit: 64) == [])
        announced.add(21, megabyte)
        #expect(numbers(announced, from: 21) == [21])
    }
}
