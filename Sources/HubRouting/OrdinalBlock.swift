/// A set of up to 65,536 numbers of 16 bits: a sorted array, or a bit set if that is smaller.
struct OrdinalBlock: Sendable {
    /// The number of elements above which a bit set of 8 KiB is smaller than an array with two bytes per element.
    static let maximumArray = 4_096
    private static let words = 1_024

    private enum Storage: Sendable {
        case array([UInt16])
        case bits([UInt64])
    }

    private var storage: Storage
    private(set) var count: Int

    init(_ number: UInt16) {
        storage = .array([number])
        count = 1
    }

    /// - Parameter array: Ascending numbers without duplicates.
    private init(array: [UInt16]) {
        storage = .array(array)
        count = array.count
        if count > Self.maximumArray { storage = .bits(bits) }
    }

    private init(bits: [UInt64]) {
        storage = .bits(bits)
        count = bits.reduce(0) { $0 + $1.nonzeroBitCount }
        if count <= Self.maximumArray { storage = .array(array) }
    }

    var isEmpty: Bool { count == 0 }

    func contains(_ number: UInt16) -> Bool {
        switch storage {
        case .array(let array):
            let place = array.place(of: number)
            return place < array.count && array[place] == number
        case .bits(let bits): return bits[Int(number >> 6)] >> UInt64(number & 63) & 1 == 1
        }
    }

    mutating func insert(_ number: UInt16) {
        switch storage {
        case .array(var array):
            let place = array.last.map { $0 < number } ?? true ? array.count : array.place(of: number)
            guard place == array.count || array[place] != number else { return }
            storage = .array([])
            array.insert(number, at: place)
            self = OrdinalBlock(array: array)
        case .bits(var bits):
            storage = .array([])
            let bit = UInt64(1) << UInt64(number & 63)
            if bits[Int(number >> 6)] & bit == 0 { count += 1 }
            bits[Int(number >> 6)] |= bit
            storage = .bits(bits)
        }
    }

    mutating func remove(_ number: UInt16) {
        guard contains(number) else { return }
        count -= 1
        switch storage {
        case .array(var array):
            storage = .array([])
            array.remove(at: array.place(of: number))
            storage = .array(array)
        case .bits(var bits):
            storage = .array([])
            bits[Int(number >> 6)] &= ~(1 << UInt64(number & 63))
            storage = .bits(bits)
            if count <= Self.maximumArray { storage = .array(array) }
        }
    }

    /// The smallest number that is not below `start`.
    func first(from start: UInt16) -> UInt16? {
        switch storage {
        case .array(let array):
            let place = array.place(of: start)
            return place < array.count ? array[place] : nil
        case .bits(let bits):
            var index = Int(start >> 6)
            var word = bits[index] & (.max << UInt64(start & 63))
            while word == 0 {
                index += 1
                guard index < bits.count else { return nil }
                word = bits[index]
            }
            return UInt16(index << 6 + word.trailingZeroBitCount)
        }
    }
}

// MARK: - In a file

extension OrdinalBlock {
    /// A byte that identifies the form, then numbers of two bytes or a bit set of 8 KiB, little-endian.
    var stored: [UInt8] {
        var bytes: [UInt8] = []
        func append(_ number: some FixedWidthInteger) {
            withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
        }
        switch storage {
        case .array(let array):
            bytes.reserveCapacity(1 + array.count * 2)
            bytes.append(0)
            for number in array { append(number) }
        case .bits(let bits):
            bytes.reserveCapacity(1 + bits.count * 8)
            bytes.append(1)
            for word in bits { append(word) }
        }
        return bytes
    }

    /// Reads the result of ``stored``; `nil` for anything else.
    init?(stored bytes: [UInt8]) {
        let rest = bytes.dropFirst()
        switch bytes.first {
        case 0 where rest.count % 2 == 0 && !rest.isEmpty && rest.count <= Self.maximumArray * 2:
            let array = stride(from: 1, to: bytes.count, by: 2).map { UInt16(bytes[$0]) | UInt16(bytes[$0 + 1]) << 8 }
            guard zip(array, array.dropFirst()).allSatisfy({ $0 < $1 }) else { return nil }
            self.init(array: array)
        case 1 where rest.count == Self.words * 8:
            self.init(
                bits: stride(from: 1, to: bytes.count, by: 8).map { start in
                    (0..<8).reduce(UInt64(0)) { $0 | UInt64(bytes[start + $1]) << UInt64($1 * 8) }
                }
            )
        default: return nil
        }
    }
}

// MARK: - Operations

extension OrdinalBlock {
    func union(_ other: OrdinalBlock) -> OrdinalBlock {
        switch (storage, other.storage) {
        case (.array(let left), .array(let right)):
            var result: [UInt16] = []
            result.reserveCapacity(left.count + right.count)
            var (mine, theirs) = (0, 0)
            while mine < left.count, theirs < right.count {
                let (own, foreign) = (left[mine], right[theirs])
                result.append(min(own, foreign))
                if own <= foreign { mine += 1 }
                if foreign <= own { theirs += 1 }
            }
            result += left[mine...]
            result += right[theirs...]
            return OrdinalBlock(array: result)
        default: return combined(other) { $0 | $1 }
        }
    }

    func intersection(_ other: OrdinalBlock) -> OrdinalBlock {
        switch (storage, other.storage) {
        case (.array(let left), _): OrdinalBlock(array: left.filter { other.contains($0) })
        case (_, .array(let right)): OrdinalBlock(array: right.filter { contains($0) })
        case (.bits, .bits): combined(other) { $0 & $1 }
        }
    }

    func subtracting(_ other: OrdinalBlock) -> OrdinalBlock {
        switch storage {
        case .array(let left): OrdinalBlock(array: left.filter { !other.contains($0) })
        case .bits: combined(other) { $0 & ~$1 }
        }
    }

    func intersectionCount(_ other: OrdinalBlock) -> Int {
        switch (storage, other.storage) {
        case (.array(let left), _): left.reduce(0) { $0 + (other.contains($1) ? 1 : 0) }
        case (_, .array(let right)): right.reduce(0) { $0 + (contains($1) ? 1 : 0) }
        case (.bits(let left), .bits(let right)):
            left.indices.reduce(0) { $0 + (left[$1] & right[$1]).nonzeroBitCount }
        }
    }

    private func combined(_ other: OrdinalBlock, _ operation: (UInt64, UInt64) -> UInt64) -> OrdinalBlock {
        let (left, right) = (bits, other.bits)
        return OrdinalBlock(bits: left.indices.map { operation(left[$0], right[$0]) })
    }

    private var bits: [UInt64] {
        switch storage {
        case .bits(let bits): return bits
        case .array(let array):
            var bits = [UInt64](repeating: 0, count: Self.words)
            for number in array { bits[Int(number >> 6)] |= 1 << UInt64(number & 63) }
            return bits
        }
    }

    private var array: [UInt16] {
        switch storage {
        case .array(let array): return array
        case .bits(let bits):
            var array: [UInt16] = []
            array.reserveCapacity(count)
            for (index, word) in bits.enumerated() {
                var rest = word
                while rest != 0 {
                    array.append(UInt16(index << 6 + rest.trailingZeroBitCount))
                    rest &= rest - 1
                }
            }
            return array
        }
    }
}

extension OrdinalBlock: Equatable {
    static func == (left: OrdinalBlock, right: OrdinalBlock) -> Bool {
        left.count == right.count && left.intersectionCount(right) == left.count
    }
}

extension Array where Element: Comparable {
    /// The place of an element in a sorted array, or the place where it belongs.
    func place(of element: Element) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < element { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
