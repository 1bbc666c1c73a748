import HubProtocol
import Testing

@testable import WebPages

struct ChartTests {
    private func chart(_ hours: [[String: Int]], isSum: Bool = true) -> Chart {
        // 2030-03-17T17:00:00Z
        Chart("Messages", from: Timestamp(milliseconds: 1_899_997_200_000), hours: hours, isSum: isSum)
    }

    @Test func `bars are as high as their values, one upon the other`() {
        let chart = chart([["a": 1, "b": 3], [:], ["a": 2]])
        #expect(chart.summary == "6 in all, at most 4 in an hour" && chart.hasKeys && !chart.isEmpty)
        #expect(chart.keys.map(\.name) == ["a", "b"])
        #expect(chart.bars.map(\.series) == [1, 2, 1])
        #expect(chart.bars.map(\.height) == [25, 75, 50])
        #expect(chart.bars.map(\.y) == [75, 0, 50])
        #expect(chart.bars.map(\.x) == [0, 0, 480])
        #expect(chart.bars.first?.label == "2030-03-17 17:00 UTC: a 1")
        #expect(
            chart.table.rows == [
                ["2030-03-17 19:00 UTC", "2", "0"], ["2030-03-17 17:00 UTC", "1", "3"],
            ]
        )
    }

    @Test func `times are drawn by their size, the median below`() {
        var (fast, slow) = (TimeHistogram(), TimeHistogram())
        for _ in 1...100 { fast.add(.milliseconds(4)) }
        for _ in 1...5 { slow.add(.seconds(4)) }
        let start = Timestamp(milliseconds: 1_899_997_200_000)
        let chart = Chart("Times", from: start, times: [fast, TimeHistogram(), fast + slow], .page)
        #expect(chart.summary == "p50 under 5 ms, p99 under 5.0 s" && !chart.isEmpty)
        #expect(chart.keys.map(\.name) == ["p50", "p99"])
        #expect(
            chart.bars.map(\.label) == [
                "2030-03-17 17:00 UTC: p50 5 ms", "2030-03-17 19:00 UTC: p50 5 ms", "2030-03-17 19:00 UTC: p99 5.0 s",
            ]
        )
        #expect(chart.bars.allSatisfy { $0.y >= 0 && $0.y + $0.height <= 101 })
        #expect(Chart("Times", from: start, times: [TimeHistogram()], .page).isEmpty)
    }

    @Test func `a small value is seen beside a large one, and nothing leaves the picture`() {
        let chart = chart([["a": 1_000_000, "b": 1], ["a": 1]])
        #expect(chart.bars.allSatisfy { $0.height >= 1 && $0.y >= 0 && $0.y + $0.height <= 101 }, "\(chart.bars)")
    }

    @Test func `many series are added up, and none is a picture of nothing`() {
        let many = chart([Dictionary(uniqueKeysWithValues: (1...9).map { ("p\($0)", 10 - $0) })])
        #expect(many.keys.map(\.name) == ["p1", "p2", "p3", "p4", "others"])
        #expect(many.bars.map(\.series) == [1, 2, 3, 4, 5])
        #expect(chart([[:], ["a": 0]]).isEmpty && chart([]).isEmpty)
        let state = chart([["a": 5], ["a": 2]], isSum: false)
        #expect(state.summary == "2 now, at most 5" && !state.hasKeys)
    }

    @Test func `midnights are named`() {
        let chart = chart([[String: Int]](repeating: ["a": 1], count: 72))
        #expect(chart.days.map(\.label) == ["2030-03-18", "2030-03-19", "2030-03-20"])
        #expect(chart.bars.count == 72 && Set(chart.bars.map(\.width)) == [9])
    }
}
