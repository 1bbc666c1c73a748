import Foundation
import HubProtocol
import Testing

struct TimeHistogramTests {
    @Test func `quantiles are rounded up, and sums are those of all times`() throws {
        var (one, other) = (TimeHistogram(), TimeHistogram())
        #expect(one.isEmpty && one.quantile(0.5) == nil)
        for _ in 1...98 { one.add(.milliseconds(4)) }
        other.add(.seconds(9))
        other.add(.seconds(40_000))
        let all = one + other
        #expect(all.count == 100 && all == other + one)
        #expect(all.quantile(0.5) == 5 && all.quantile(0.98) == 5)
        #expect(all.quantile(0.99) == 10_000 && all.quantile(1) == 1_000_000)
        #expect(one.quantile(0.99) == 5)
        #expect(TimeHistogram.rank(milliseconds: 5) < TimeHistogram.rank(milliseconds: 10_000))
        var zero = TimeHistogram()
        zero.add(.zero)
        zero.add(.seconds(-5))
        #expect(zero.quantile(1) == 1)
        #expect(TimeHistogram.limits == TimeHistogram.limits.sorted() && TimeHistogram.limits.first == 1)
    }

    @Test func `what is stored is read again, and what is damaged counts as nothing`() throws {
        var times = TimeHistogram()
        for milliseconds in [0, 5, 5_000] { times.add(.milliseconds(milliseconds)) }
        let text = try JSONEncoder().encode(times)
        #expect(try JSONDecoder().decode(TimeHistogram.self, from: text) == times)
        let odd = try JSONDecoder().decode(TimeHistogram.self, from: Data(#"{"-1":4,"3":-2,"5":1}"#.utf8))
        #expect(odd.count == 1)
    }
}
