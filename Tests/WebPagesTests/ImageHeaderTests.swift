import Testing

@testable import WebPages

/// The beginnings of pictures.
struct ImageHeaderTests {
    private static let png: [UInt8] =
        [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0, 0, 0, 13] + "IHDR".utf8
        + [0, 0, 1, 0x40, 0, 0, 0, 0xF0, 8, 6, 0, 0, 0, 0, 0, 0, 0]
    /// With an application segment and a fill byte before the frame.
    private static let jpeg: [UInt8] =
        [0xFF, 0xD8, 0xFF, 0xE0, 0, 4, 1, 2, 0xFF, 0xFF, 0xC2, 0, 17, 8, 0x02, 0x58, 0x03, 0x20, 3, 1, 2, 3]
    private static func webp(_ chunk: String, _ rest: [UInt8]) -> [UInt8] {
        Array("RIFF".utf8) + [0, 0, 0, 0] + Array("WEBP".utf8) + Array(chunk.utf8) + [0, 0, 0, 0] + rest
    }
    private static let webps: [([UInt8], Int, Int)] = [
        (webp("VP8 ", [0, 0, 0, 0x9D, 0x01, 0x2A, 0x40, 0x01, 0xF0, 0x40]), 320, 240),
        // 320 - 1 in 14 bits, then 240 - 1 in 14 bits.
        (webp("VP8L", [0x2F, 0x3F, 0xC1, 0x3B, 0, 0, 0, 0, 0, 0]), 320, 240),
        (webp("VP8X", [0, 0, 0, 0, 0x3F, 0x01, 0, 0xEF, 0, 0]), 320, 240),
    ]

    @Test func `type and size are in the first bytes`() throws {
        let png = try #require(ImageHeader(Self.png))
        #expect((png.kind, png.width, png.height) == (.png, 320, 240))
        let jpeg = try #require(ImageHeader(Self.jpeg))
        #expect((jpeg.kind, jpeg.width, jpeg.height) == (.jpeg, 800, 600))
        for (bytes, width, height) in Self.webps {
            let webp = try #require(ImageHeader(bytes))
            #expect((webp.kind, webp.width, webp.height) == (.webp, width, height))
        }
        #expect(png.pixels == 76_800)
    }

    @Test func `each beginning of a file, and each changed byte, is read or refused`() {
        for whole in [Self.png, Self.jpeg] + Self.webps.map(\.0) {
            for count in 0..<whole.count { _ = ImageHeader(Array(whole.prefix(count))) }
            for place in whole.indices {
                for byte: UInt8 in [0, 1, 0x7F, 0x80, 0xFF] {
                    var bytes = whole
                    bytes[place] = byte
                    if let header = ImageHeader(bytes) { #expect(header.pixels > 0) }
                }
            }
        }
    }

    @Test func `nothing else is a picture`() {
        let none: [[UInt8]] = [
            // 2^32 - 1 pixels wide and high.
            Self.png.prefix(16) + [UInt8](repeating: 0xFF, count: 8) + Self.png.dropFirst(24),
            [], Array("<svg xmlns='http://www.w3.org/2000/svg'/>".utf8), Array("GIF89a".utf8) + [1, 0, 1, 0],
            [0xFF, 0xD8], [0xFF, 0xD8] + [UInt8](repeating: 0xFF, count: 5_000),
            // Segments without a frame, and the data of a picture before its frame.
            [0xFF, 0xD8] + [[UInt8]](repeating: [0xFF, 0xE0, 0, 2], count: 2_000).flatMap { $0 },
            [0xFF, 0xD8, 0xFF, 0xDA, 0, 17, 8, 2, 0x58, 3, 0x20, 3, 1],
        ]
        for bytes in none { #expect(ImageHeader(bytes) == nil, "\(bytes.prefix(12))") }
    }
}
