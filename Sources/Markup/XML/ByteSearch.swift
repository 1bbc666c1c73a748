internal import Glibc

/// Searches of a text in memory, with the functions of the C library.
extension UnsafeBufferPointer<UInt8> {
    /// Returns the first position of a byte from `start` up to, but not including, `end`.
    func position(of byte: UInt8, from start: Int = 0, to end: Int? = nil) -> Int? {
        let end = end ?? count
        guard start < end, let baseAddress, let found = memchr(baseAddress + start, Int32(byte), end - start)
        else { return nil }
        return UnsafeRawPointer(found) - UnsafeRawPointer(baseAddress)
    }

    /// Returns the first position of a word that begins before `end`.
    func position(of word: StaticString, from start: Int, to end: Int? = nil) -> Int? {
        var next = start
        while let first = position(of: word.utf8Start.pointee, from: next, to: end) {
            if has(word, at: first) { return first }
            next = first + 1
        }
        return nil
    }

    func has(_ word: StaticString, at position: Int) -> Bool {
        guard let baseAddress, position + word.utf8CodeUnitCount <= count else { return false }
        return memcmp(baseAddress + position, word.utf8Start, word.utf8CodeUnitCount) == 0
    }
}
