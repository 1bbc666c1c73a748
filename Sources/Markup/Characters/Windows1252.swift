/// The bytes 80–9F, which are quotation marks and dashes in windows-1252 and invisible controls in ISO 8859-1.
enum Windows1252 {
    /// Source: WHATWG Encoding, index-windows-1252; unassigned bytes keep their value.
    private static let high: [UInt32] = [
        0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D,
        0x017D, 0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A,
        0x0153, 0x9D, 0x017E, 0x0178,
    ]

    /// The intended code point for one that may be a byte of windows-1252.
    static func remapped(_ value: UInt32) -> UInt32 {
        0x80...0x9F ~= value ? high[Int(value - 0x80)] : value
    }

    static func appendUTF8(_ bytes: some Sequence<UInt8>, to output: inout [UInt8]) {
        for byte in bytes {
            if byte < 0x80 {
                output.append(byte)
            } else if let scalar = Unicode.Scalar(remapped(UInt32(byte))) {
                output += UTF8.encode(scalar).map { Array($0) } ?? []
            }
        }
    }
}
