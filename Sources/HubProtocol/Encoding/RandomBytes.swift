/// Bytes from the system's cryptographic generator.
package enum RandomBytes {
    package static func make(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return make(count: count, using: &generator)
    }

    static func make(count: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        // The system's generator makes a system call for each number, of up to eight bytes.
        while bytes.count < count { withUnsafeBytes(of: generator.next()) { bytes.append(contentsOf: $0) } }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}

/// Comparison that takes the same time wherever the first difference is.
enum ConstantTime {
    static func equal(_ left: some Collection<UInt8>, _ right: some Collection<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for (a, b) in zip(left, right) { difference |= a ^ b }
        return difference == 0
    }
}
