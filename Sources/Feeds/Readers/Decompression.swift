internal import CZlib

/// Decompresses gzip that a server did not announce, or applied twice.
enum Decompression {
    /// The largest number of layers that are removed: one more than has been seen in practice.
    private static let maximumLayers = 3
    /// The largest expansion ratio; feeds reach 30, and a larger ratio than this limit is an attack.
    private static let maximumRatio = 200
    /// The size in bytes up to which a body may expand at any ratio.
    private static let unsuspicious = 1_048_576
    private static let chunk = 65_536
    /// The largest number of gzip members: a server that flushes after each entry writes hundreds.
    private static let maximumMembers = 10_000

    /// The decompressed body, or the body itself if it is not compressed.
    static func plain(_ bytes: [UInt8], limit: Int) throws(FeedError) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<maximumLayers {
            guard bytes.starts(with: [0x1F, 0x8B]) else { return bytes }
            bytes = try inflated(bytes, limit: limit)
        }
        guard !bytes.starts(with: [0x1F, 0x8B]) else {
            throw .unreadable(reason: "it is compressed more than \(maximumLayers) times over")
        }
        return bytes
    }

    /// Inflates up to the end or the first fault, so that a truncated body is read as far as possible.
    private static func inflated(_ bytes: [UInt8], limit: Int) throws(FeedError) -> [UInt8] {
        var stream = z_stream()
        guard czlib_inflate_init(&stream) == Z_OK else { throw .unreadable(reason: "it cannot be decompressed") }
        defer { inflateEnd(&stream) }
        let bound = max(unsuspicious, min(limit, bytes.count * maximumRatio))
        var input = bytes
        var output: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: chunk)
        var status = Z_OK
        var members = 1
        input.withUnsafeMutableBufferPointer { input in
            stream.next_in = input.baseAddress
            stream.avail_in = UInt32(clamping: input.count)
            while status == Z_OK, output.count <= bound {
                buffer.withUnsafeMutableBufferPointer { buffer in
                    stream.next_out = buffer.baseAddress
                    stream.avail_out = UInt32(buffer.count)
                    status = inflate(&stream, Z_NO_FLUSH)
                    output.append(contentsOf: buffer.prefix(buffer.count - Int(stream.avail_out)))
                }
                // Several gzip members may follow one another (RFC 1952 §2.2).
                if status == Z_STREAM_END, stream.avail_in > 0, members < maximumMembers {
                    members += 1
                    status = inflateReset(&stream)
                }
            }
        }
        guard output.count <= limit else { throw .tooLarge(limit: limit) }
        guard output.count <= bound else {
            throw .unreadable(reason: "it expands to more than \(maximumRatio) times its size")
        }
        guard !output.isEmpty else { throw .unreadable(reason: "it begins like gzip but is not") }
        return output
    }
}
