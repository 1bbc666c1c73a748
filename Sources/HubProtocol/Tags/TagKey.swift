/// The key of a tag in an index of millions: 128 bits instead of its folded text.
///
/// Two hashes of the standard library, whose seed is random in each process: nobody can choose tags that collide, and
/// the probability of a collision among a hundred million tags is below 1 in 10²².
package struct TagKey: Sendable, Equatable {
    private let first: Int
    private let second: Int

    fileprivate init(folded: UnsafeRawBufferPointer) {
        var hasher = Hasher()
        hasher.combine(bytes: folded)
        // Two copies of the state continue with different bytes.
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

    /// A key is already a hash: hashing it again would take a seventh of a start with a million registrations.
    package func _rawHashValue(seed: Int) -> Int { first ^ seed }
}

extension Tag {
    package var key: TagKey { TagKey(folded: folded) }

    /// Calls `body` with the key of each tag; `joined` consists of valid tags, separated by commas.
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
