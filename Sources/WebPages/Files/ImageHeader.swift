/// The type and the size of a picture, from its first bytes; the picture itself is not decoded.
///
/// Source: W3C PNG (Third Edition) §5.2, §11.2.1; ITU-T T.81 §B.1, §B.2 (JPEG); RFC 9649 §2 (WebP).
package struct ImageHeader: Sendable, Equatable {
    package enum Kind: String, Sendable {
        case png = "image/png"
        case jpeg = "image/jpeg"
        case webp = "image/webp"
    }

    /// The largest width and height in pixels, which is that of a JPEG; a PNG has 32 bits for them.
    private static let maximumSide = 65_535
    /// The largest number of segments of a JPEG that are read until its size is found.
    private static let maximumSegments = 1_000

    package let kind: Kind
    /// Width and height in pixels.
    package let width: Int
    package let height: Int

    package var pixels: Int { width * height }

    /// Reads the beginning of a file; `nil` for anything but a PNG, a JPEG or a WebP with a size.
    package init?(_ bytes: [UInt8]) {
        guard let (kind, width, height) = Self.png(bytes) ?? Self.jpeg(bytes) ?? Self.webp(bytes),
            1...Self.maximumSide ~= width, 1...Self.maximumSide ~= height
        else { return nil }
        (self.kind, self.width, self.height) = (kind, width, height)
    }

    private typealias Found = (kind: Kind, width: Int, height: Int)

    /// A signature, then the chunk IHDR with width and height.
    private static func png(_ bytes: [UInt8]) -> Found? {
        guard bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]), bytes.count >= 33,
            bytes[12..<16].elementsEqual("IHDR".utf8)
        else { return nil }
        return (.png, bigEndian(bytes[16..<20]), bigEndian(bytes[20..<24]))
    }

    /// Segments with a marker and a length; the size is in the first one that begins a frame.
    private static func jpeg(_ bytes: [UInt8]) -> Found? {
        guard bytes.starts(with: [0xFF, 0xD8]) else { return nil }
        var place = 2
        for _ in 0..<maximumSegments {
            guard place + 9 <= bytes.count, bytes[place] == 0xFF else { return nil }
            let marker = bytes[place + 1]
            switch marker {
            // Markers may be filled up.
            case 0xFF: place += 1
            case 0x01, 0xD0...0xD7: place += 2
            case 0xC0...0xC3, 0xC5...0xC7, 0xC9...0xCB, 0xCD...0xCF:
                return (.jpeg, bigEndian(bytes[place + 7..<place + 9]), bigEndian(bytes[place + 5..<place + 7]))
            // The end, or data without the beginning of a frame.
            case 0xD9, 0xDA: return nil
            default: place += 2 + max(2, bigEndian(bytes[place + 2..<place + 4]))
            }
        }
        return nil
    }

    /// A RIFF file whose first chunk has the size, in one of three forms.
    private static func webp(_ bytes: [UInt8]) -> Found? {
        guard bytes.count >= 30, bytes.starts(with: "RIFF".utf8), bytes[8..<12].elementsEqual("WEBP".utf8) else {
            return nil
        }
        switch String(decoding: bytes[12..<16], as: UTF8.self) {
        case "VP8 " where bytes[23..<26].elementsEqual([0x9D, 0x01, 0x2A]):
            return (.webp, littleEndian(bytes[26..<28]) & 0x3FFF, littleEndian(bytes[28..<30]) & 0x3FFF)
        case "VP8L" where bytes[20] == 0x2F:
            let bits = littleEndian(bytes[21..<25])
            return (.webp, (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1)
        case "VP8X": return (.webp, littleEndian(bytes[24..<27]) + 1, littleEndian(bytes[27..<30]) + 1)
        default: return nil
        }
    }

    private static func bigEndian(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }
    private static func littleEndian(_ bytes: ArraySlice<UInt8>) -> Int { bigEndian(bytes.reversed()[...]) }
}
