/// Frames of HTTP/2, byte for byte: also those that no library would write.
///
/// Source: RFC 9113 §6; RFC 7541 §6.2.2 for the fields, which are neither indexed nor compressed.
package enum HTTP2Bytes {
    /// What every connection begins with, and settings without any.
    package static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + frame(4, flags: 0, stream: 0, [])

    package static func request(
        _ method: String,
        _ path: String,
        _ fields: [(name: String, value: String)] = []
    ) -> [(name: String, value: String)] {
        [(":method", method), (":scheme", "https"), (":authority", "h"), (":path", path)] + fields
    }

    package static func headers(
        _ stream: UInt32,
        _ fields: [(name: String, value: String)],
        ends: Bool = false,
        isWhole: Bool = true
    ) -> [UInt8] {
        let block = fields.reduce(into: [UInt8]()) { $0 += [0] + text($1.name) + text($1.value) }
        return frame(1, flags: (ends ? 1 : 0) | (isWhole ? 4 : 0), stream: stream, block)
    }

    package static func continuation(_ stream: UInt32, _ block: [UInt8]) -> [UInt8] {
        frame(9, flags: 0, stream: stream, block)
    }

    package static func data(_ stream: UInt32, _ bytes: [UInt8], ends: Bool = false) -> [UInt8] {
        frame(0, flags: ends ? 1 : 0, stream: stream, bytes)
    }

    /// With the code CANCEL.
    package static func reset(_ stream: UInt32) -> [UInt8] { frame(3, flags: 0, stream: stream, [0, 0, 0, 8]) }

    package static func goAway(last stream: UInt32) -> [UInt8] {
        frame(7, flags: 0, stream: 0, number(stream) + number(0))
    }

    package static func frame(_ type: UInt8, flags: UInt8, stream: UInt32, _ payload: [UInt8]) -> [UInt8] {
        let length = payload.count
        let size = [length >> 16 & 0xFF, length >> 8 & 0xFF, length & 0xFF].map { UInt8($0) }
        return size + [type, flags] + number(stream) + payload
    }

    private static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// A literal without Huffman coding.
    private static func text(_ text: String) -> [UInt8] {
        var rest = text.utf8.count
        guard rest >= 127 else { return [UInt8(rest)] + text.utf8 }
        var length: [UInt8] = [127]
        rest -= 127
        while rest >= 128 {
            length.append(UInt8(rest % 128) | 128)
            rest /= 128
        }
        return length + [UInt8(rest)] + text.utf8
    }
}
