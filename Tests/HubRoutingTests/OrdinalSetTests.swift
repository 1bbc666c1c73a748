import HubProtocol
import Testing

@testable import HubRouting

struct OrdinalSetTests {
    private static let shapes: [(String, [Ordinal])] = numbers.map { ($0, $1.map(Ordinal.init(rawValue:))) }

    /// Sparse, dense, across the bounds of blocks, and beyond 32 bits.
    private static let numbers: [(String, [Int64])] = [
        ("empty", []),
        ("one", [70_000]),
        ("sparse", Array(stride(from: 3, to: 400_000, by: 977))),
        ("dense", Array(60_000..<75_000)),
        ("every other", Array(stride(from: 0, to: 140_000, by: 2))),
        ("bounds", [0, 65_535, 65_536, 131_071, 131_072, 1 << 40]),
    ]

    @Test(arguments: shapes.indices, shapes.indices)
    func `operations are those of plain sets`(left: Int, right: Int) {
        let (mine, theirs) = (Self.shapes[left].1, Self.shapes[right].1)
        let (a, b) = (OrdinalSet(mine), OrdinalSet(theirs))
        let (plainA, plainB) = (Set(mine), Set(theirs))
        #expect(Array(a.union(b)) == plainA.union(plainB).sorted())
        #expect(Array(a.intersection(b)) == plainA.intersection(plainB).sorted())
        #expect(Array(a.subtracting(b)) == plainA.subtracting(plainB).sorted())
        #expect(a.intersectionCount(b) == plainA.intersection(plainB).count)
        #expect(a.count == mine.count)
        #expect((a == b) == (plainA == plainB))
    }

    @Test func `numbers come and go in any order, through arrays and bit sets`() {
        var generator = SystemRandomNumberGenerator()
        var (set, plain) = (OrdinalSet(), Set<Ordinal>())
        for round in 0..<60_000 {
            let number = Ordinal(rawValue: .random(in: 0..<20_000, using: &generator) + (round % 3 == 0 ? 1 << 33 : 0))
            // First more come than go, so that blocks become bit sets, then the other way round.
            if Int.random(in: 0..<10, using: &generator) < (round < 30_000 ? 8 : 2) {
                set.insert(number)
                plain.insert(number)
            } else {
                set.remove(number)
                plain.remove(number)
            }
        }
        #expect(Array(set) == plain.sorted())
        for number in [0, 5, 8_589_934_592, 19_999] as [Ordinal] {
            #expect(set.contains(number) == plain.contains(number))
        }
        for number in plain { set.remove(number) }
        #expect(set.isEmpty && set == OrdinalSet())
    }

    @Test func `numbers above one come in pages`() {
        for (name, numbers) in Self.shapes {
            let set = OrdinalSet(numbers)
            var (found, last) = ([Ordinal](), Ordinal(rawValue: -1))
            for _ in 0...numbers.count {
                let page = set.ordinals(above: last, limit: 7)
                guard let end = page.last else { break }
                found += page
                last = end
                if found.count > 500 { break }
            }
            #expect(found == Array(numbers.prefix(found.count)), "\(name)")
            #expect(found.count == numbers.count || found.count > 500, "\(name)")
        }
        let dense = OrdinalSet((0..<70_000).lazy.map(Ordinal.init(rawValue:)))
        #expect(dense.ordinals(above: 65_534, limit: 3) == [65_535, 65_536, 65_537])
        #expect(OrdinalSet([1_048_576]).ordinals(above: 65_600, limit: 3) == [1_048_576])
    }
}
