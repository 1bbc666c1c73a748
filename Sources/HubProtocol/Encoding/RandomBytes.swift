/// Bytes from the system's cryptographic generator.
package enum RandomBytes {
    package static func make(count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return make(count: count, using: &generator)
    }

    static func make(count: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
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
