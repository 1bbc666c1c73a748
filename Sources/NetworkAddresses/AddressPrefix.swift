/// The first bits of addresses; addresses that share them are in one block.
struct AddressPrefix: Sendable {
    /// Bytes of the prefix; missing ones are zero.
    let bytes: [UInt8]
    let bits: Int

    init(_ bytes: [UInt8], _ bits: Int) {
        self.bytes = bytes
        self.bits = bits
    }

    /// True if an address of at least as many bytes begins with it.
    func contains(_ address: [UInt8]) -> Bool {
        guard address.count * 8 >= bits else { return false }
        for index in 0..<((bits + 7) / 8) {
            let expected = index < bytes.count ? bytes[index] : 0
            let mask = UInt8(truncatingIfNeeded: 0xFF00 >> min(8, bits - index * 8))
            guard address[index] & mask == expected & mask else { return false }
        }
        return true
    }
}
