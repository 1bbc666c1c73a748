import Signals
import Testing

@Suite struct BoundedTableTests {
    @Test func `the value that was not used for longest goes first`() {
        var values = BoundedTable<String, Int>(maximumCount: 2, maximumBytes: 100)
        values.keep(1, bytes: 10, for: "a")
        values.keep(2, bytes: 10, for: "b")
        values.use("a")
        values.keep(3, bytes: 10, for: "c")
        #expect(values["a"] == 1 && values["b"] == nil && values["c"] == 3)
        #expect(values.count == 2 && values.bytes == 20)
        values["a"] = 4
        values["d"] = 5
        #expect(values["a"] == 4 && values["c"] == nil && values["d"] == 5)
    }

    @Test func `the sum of bytes follows what is added, replaced and dropped`() {
        var values = BoundedTable<Int, Int>(maximumCount: 100, maximumBytes: 1_000)
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
        var values = BoundedTable<Int, Int>(maximumCount: 10, maximumBytes: 100)
        values.keep(1, bytes: 60, for: 1)
        values.keep(2, bytes: 500, for: 2)
        #expect(values.count == 1 && values[2] == 2 && values.bytes == 500)
        values.keep(3, bytes: 40, for: 3)
        #expect(values.count == 1 && values[3] == 3 && values.bytes == 40)
    }

    @Test func `a key that is set and removed again and again displaces nothing`() {
        var values = BoundedTable<Int, Int>(maximumCount: 2)
        values[0] = 1
        for _ in 0..<1_000 {
            values[1] = 1
            values[1] = nil
        }
        #expect(values[0] == 1 && values.count == 1)
    }

    /// SplitMix64.
    private struct SeededRandom: RandomNumberGenerator {
        var state: UInt64

        init(_ seed: Int) { state = UInt64(seed) }

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }
    }

    /// A list of all values, the last one used at its end.
    private struct Model {
        var entries: [(key: Int, value: Int, bytes: Int)] = []

        mutating func use(_ key: Int) {
            guard let index = entries.firstIndex(where: { $0.key == key }) else { return }
            entries.append(entries.remove(at: index))
        }

        mutating func keep(_ value: Int, bytes: Int, for key: Int) {
            entries.removeAll { $0.key == key }
            entries.append((key, value, bytes))
            while entries.count > 1, entries.count > 8 || entries.reduce(0, { $0 + $1.bytes }) > 60 {
                entries.removeFirst()
            }
        }
    }

    @Test(arguments: 0..<20) func `any sequence of uses leaves the same values as a list in order of use`(_ seed: Int) {
        var random = SeededRandom(seed)
        var (table, model) = (BoundedTable<Int, Int>(maximumCount: 8, maximumBytes: 60), Model())
        for value in 0..<2_000 {
            let key = Int.random(in: 0..<14, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                table.use(key)
                model.use(key)
            case 1:
                table[key] = nil
                model.entries.removeAll { $0.key == key }
            default:
                let bytes = Int.random(in: 0..<20, using: &random)
                table.keep(value, bytes: bytes, for: key)
                model.keep(value, bytes: bytes, for: key)
            }
            #expect(table.count == model.entries.count && table.bytes == model.entries.reduce(0) { $0 + $1.bytes })
            #expect(model.entries.allSatisfy { table[$0.key] == $0.value })
        }
    }
}
