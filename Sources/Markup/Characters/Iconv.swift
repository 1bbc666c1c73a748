internal import Glibc

/// Encodings that only the C library supports.
enum Iconv {
    private static let chunk = 65_536

    /// Decodes to UTF-8; invalid bytes become U+FFFD.
    ///
    /// - Returns: `nil` when the C library does not support the encoding.
    static func utf8(_ bytes: ArraySlice<UInt8>, from name: String) -> (text: [UInt8], fault: String?)? {
        guard let converter = iconv_open("UTF-8", name), converter != iconv_t(bitPattern: -1) else { return nil }
        defer { iconv_close(converter) }
        var input = bytes.map { CChar(bitPattern: $0) }
        var output: [UInt8] = []
        var buffer = [CChar](repeating: 0, count: chunk)
        var faults = 0
        input.withUnsafeMutableBufferPointer { input in
            var next = input.baseAddress
            var left = input.count
            while left > 0 {
                let (status, code, made) = buffer.withUnsafeMutableBufferPointer { buffer in
                    var end = buffer.baseAddress
                    var room = buffer.count
                    let status = iconv(converter, &next, &left, &end, &room)
                    return (status, errno, buffer.count - room)
                }
                output.append(contentsOf: buffer[..<made].lazy.map { UInt8(bitPattern: $0) })
                guard status == -1, code != E2BIG else { continue }
                faults += 1
                output += "\u{FFFD}".utf8
                next = next?.advanced(by: 1)
                left -= 1
            }
        }
        return (output, faults == 0 ? nil : "\(faults) bytes are not \(name)")
    }
}
