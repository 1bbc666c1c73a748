import Testing

@testable import HubRouting

/// Sets of ordinals as a file holds them.
struct StoredSetTests {
    @Test(arguments: [1, 3, 4_096, 4_097, 65_536])
    func `a set is what it was before it was stored`(count: Int) throws {
        let step = 65_536 / count
        let set = OrdinalSet((0..<count).map { Ordinal(rawValue: Int64(5 << 16 + $0 * step)) })
        let stored = set.stored
        #expect(stored.count == 1 && stored[0].block == 5 && stored[0].bytes.count <= 8_193)
        #expect(OrdinalSet(block: 5, stored: stored[0].bytes) == set)
    }

    @Test func `bytes that no set gives are refused`() {
        for bytes: [UInt8] in [[0], [0, 1], [2, 0, 0], [0, 2, 0, 1, 0], [0, 1, 0, 1, 0], [1, 0]] {
            #expect(OrdinalSet(block: 0, stored: bytes) == nil, "\(bytes)")
        }
        #expect(OrdinalSet(block: 0, stored: [])?.isEmpty == true)
    }
}
