/// A set of ordinals, for example of registrations.
///
/// Numbers are stored in blocks of 65,536. A block with few numbers is a sorted array, and a block with many is a bit
/// set. A rare tag therefore costs bytes per number and a common one bits, and sets of a million are intersected in
/// microseconds.
///
/// Source: Chambi, Lemire, Kaser and Godin, "Better bitmap performance with Roaring bitmaps", 2016, for the rule.
package struct OrdinalSet: Sendable, Equatable {
    /// The numbers' upper bits, ascending.
    private var keys: [Int64] = []
    /// The blocks of ``keys``, at the same indexes; none is empty.
    private var blocks: [OrdinalBlock] = []

    package init() {}

    package init(_ ordinals: some Sequence<Ordinal>) {
        for ordinal in ordinals { insert(ordinal) }
    }

    package var isEmpty: Bool { blocks.isEmpty }
    package var count: Int { blocks.reduce(0) { $0 + $1.count } }

    package func contains(_ ordinal: Ordinal) -> Bool {
        place(of: ordinal.block).found.map { blocks[$0].contains(ordinal.low) } ?? false
    }

    package mutating func insert(_ ordinal: Ordinal) {
        let (key, low) = (ordinal.block, ordinal.low)
        // Ordinals are assigned in ascending order.
        if let last = keys.last, last == key { return blocks[blocks.count - 1].insert(low) }
        let (found, place) = place(of: key)
        if let found { return blocks[found].insert(low) }
        keys.insert(key, at: place)
        blocks.insert(OrdinalBlock(low), at: place)
    }

    package mutating func remove(_ ordinal: Ordinal) {
        guard let found = place(of: ordinal.block).found else { return }
        blocks[found].remove(ordinal.low)
        guard blocks[found].isEmpty else { return }
        keys.remove(at: found)
        blocks.remove(at: found)
    }

    /// The index of a block, or the index at which to insert it.
    private func place(of key: Int64) -> (found: Int?, place: Int) {
        let place = keys.place(of: key)
        return (place < keys.count && keys[place] == key ? place : nil, place)
    }
}

// MARK: - Operations

extension OrdinalSet {
    package func union(_ other: OrdinalSet) -> OrdinalSet {
        merged(other, keepsOwn: true, keepsOther: true) { $0.union($1) }
    }

    package func intersection(_ other: OrdinalSet) -> OrdinalSet {
        merged(other, keepsOwn: false, keepsOther: false) { $0.intersection($1) }
    }

    package func subtracting(_ other: OrdinalSet) -> OrdinalSet {
        merged(other, keepsOwn: true, keepsOther: false) { $0.subtracting($1) }
    }

    /// Number of elements that both sets contain.
    package func intersectionCount(_ other: OrdinalSet) -> Int {
        var (count, mine, theirs) = (0, 0, 0)
        while mine < keys.count, theirs < other.keys.count {
            if keys[mine] == other.keys[theirs] {
                count += blocks[mine].intersectionCount(other.blocks[theirs])
                mine += 1
                theirs += 1
            } else if keys[mine] < other.keys[theirs] {
                mine += 1
            } else {
                theirs += 1
            }
        }
        return count
    }

    private func merged(
        _ other: OrdinalSet,
        keepsOwn: Bool,
        keepsOther: Bool,
        _ both: (OrdinalBlock, OrdinalBlock) -> OrdinalBlock
    ) -> OrdinalSet {
        var result = OrdinalSet()
        var (mine, theirs) = (0, 0)
        while mine < keys.count || theirs < other.keys.count {
            let own = mine < keys.count ? keys[mine] : .max
            let foreign = theirs < other.keys.count ? other.keys[theirs] : .max
            if own == foreign {
                result.append(own, both(blocks[mine], other.blocks[theirs]))
            } else if own < foreign {
                if keepsOwn { result.append(own, blocks[mine]) }
            } else if keepsOther {
                result.append(foreign, other.blocks[theirs])
            }
            if own <= foreign { mine += 1 }
            if foreign <= own { theirs += 1 }
        }
        return result
    }

    private mutating func append(_ key: Int64, _ block: OrdinalBlock) {
        guard !block.isEmpty else { return }
        keys.append(key)
        blocks.append(block)
    }
}

// MARK: - In a file

extension OrdinalSet {
    /// The blocks of 65,536 numbers, ascending, each in at most 8 KiB and one byte.
    package var stored: [(block: Int64, bytes: [UInt8])] {
        zip(keys, blocks).map { (block: $0, bytes: $1.stored) }
    }

    /// Reads one block from the result of ``stored``, or creates an empty set.
    ///
    /// - Returns: `nil` for bytes that ``stored`` does not produce.
    package init?(block: Int64, stored bytes: [UInt8]) {
        self.init()
        if bytes.isEmpty { return }
        guard let read = OrdinalBlock(stored: bytes) else { return nil }
        append(block, read)
    }
}

extension Ordinal {
    /// The number of the ordinal's block of 65,536.
    package var block: Int64 { rawValue >> 16 }
    /// The ordinal's position in the block.
    fileprivate var low: UInt16 { UInt16(truncatingIfNeeded: rawValue) }

    fileprivate init(block: Int64, low: UInt16) { self.init(rawValue: block << 16 | Int64(low)) }
}

extension OrdinalSet: Sequence {
    /// Iterates in ascending order.
    package func makeIterator() -> Iterator { Iterator(set: self) }

    package struct Iterator: IteratorProtocol {
        fileprivate let set: OrdinalSet
        fileprivate var block = 0
        /// The lowest position in the block that was not returned.
        fileprivate var low: UInt16? = 0

        package mutating func next() -> Ordinal? {
            while block < set.blocks.count {
                if let from = low, let found = set.blocks[block].first(from: from) {
                    low = found == .max ? nil : found + 1
                    return Ordinal(block: set.keys[block], low: found)
                }
                block += 1
                low = 0
            }
            return nil
        }
    }

    /// The first elements above `ordinal`, ascending.
    package func ordinals(above ordinal: Ordinal, limit: Int) -> [Ordinal] {
        let start = Ordinal(rawValue: ordinal.rawValue + 1)
        let block = place(of: start.block).place
        let isBegun = block < keys.count && keys[block] == start.block
        let rest = Iterator(set: self, block: block, low: isBegun ? start.low : 0)
        return Array(IteratorSequence(rest).prefix(limit))
    }
}
