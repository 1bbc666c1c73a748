/// The key of a tag in an index of millions: 128 bits instead of its folded text.
///
/// Two hashes of the standard library, whose seed is drawn anew in each process: nobody can choose tags that meet, and
/// among a hundred million tags the odds that two do are below 1 in 10²².
package struct TagKey: Sendable, Equatable {
    private let first: Int
    private let second: Int

    fileprivate init(folded: UnsafeRawBufferPointer) {
        var hasher = Hasher()
        hasher.combine(bytes: folded)
        // Two copies go on from here to different ends.
        var other = hasher
        hasher.combine(1 as UInt8)
        other.combine(2 as UInt8)
        first = hasher.finalize()
        second = other.finalize()
    }

    fileprivate init(folded: String) {
        var folded = folded
        self = folded.withUTF8 { TagKey(folded: UnsafeRawBufferPointer($0)) }
    }
}

extension TagKey: Hashable {
    package func hash(into hasher: inout Hasher) { hasher.combine(first) }

    /// A key is a hash already: to hash it again is a seventh of what a start with a million registrations takes.
    package func _rawHashValue(seed: Int) -> Int { first ^ seed }
}

extension Tag {
    package var key: TagKey { TagKey(folded: folded) }

    /// Calls `body` with the key of each of some valid tags, which are joined by commas.
    package static func forEachKey(in joined: String, _ body: (TagKey) -> Void) {
        var joined = joined
        joined.withUTF8 { bytes in
            withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 1) { folded in
                var (start, isASCII) = (0, true)
                for place in 0...bytes.count {
                    if place < bytes.count, bytes[place] != UInt8(ascii: ",") {
                        let byte = bytes[place]
                        isASCII = isASCII && byte < 0x80
                        folded[place] = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
                    } else {
                        defer { (start, isASCII) = (place + 1, true) }
                        guard place > start else { continue }
                        if isASCII {
                            body(TagKey(folded: UnsafeRawBufferPointer(rebasing: folded[start..<place])))
                        } else {
                            let tag = String(decoding: bytes[start..<place], as: UTF8.self)
                            body(TagKey(folded: TagFolding.fold(tag)))
                        }
                    }
                }
            }
        }
    }
}
