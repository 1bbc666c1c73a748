internal import Crypto
internal import Formats
internal import FoundationEssentials

/// The key of an entry: 16 bytes of a SHA-256, so that even an identifier of a megabyte takes little room.
///
/// Keys are stored, so they are stable across runs and versions. A key is only meaningful within its own feed, except
/// the key of a link, which is the same in every feed.
package struct EntryKey: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 16

    private let high: UInt64
    private let low: UInt64

    /// Restores a stored key; `nil` unless there are exactly ``byteCount`` bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        var halves: (high: UInt64, low: UInt64) = (0, 0)
        for byte in bytes { halves = (halves.high << 8 | halves.low >> 56, halves.low << 8 | UInt64(byte)) }
        (high, low) = halves
    }

    /// Hashes parts in order; the boundaries between parts count, so that ("ab", "c") differs from ("a", "bc").
    init(_ parts: String...) {
        var hash = SHA256()
        for part in parts {
            withUnsafeBytes(of: UInt64(part.utf8.count).littleEndian) { hash.update(bufferPointer: $0) }
            var part = part
            part.withUTF8 { hash.update(bufferPointer: UnsafeRawBufferPointer($0)) }
        }
        self.init(hash.finalize())
    }

    /// Hashes bytes in which the caller has marked the ends of parts.
    package init(hashing bytes: [UInt8]) {
        self.init(SHA256.hash(data: bytes))
    }

    private init(_ digest: SHA256Digest) {
        (high, low) = digest.withUnsafeBytes { bytes in
            (
                UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
            )
        }
    }

    package var bytes: [UInt8] {
        [UInt8](unsafeUninitializedCapacity: Self.byteCount) { buffer, count in
            for index in 0..<Self.byteCount {
                let half = index < 8 ? high : low
                buffer[index] = UInt8(truncatingIfNeeded: half >> UInt64(56 - index % 8 * 8))
            }
            count = Self.byteCount
        }
    }

    /// Restores a key from its ``description``.
    package init?(hexadecimal text: String) {
        guard text.utf8.count == Self.byteCount * 2, let high = UInt64(text.prefix(16), radix: 16),
            let low = UInt64(text.suffix(16), radix: 16)
        else { return nil }
        (self.high, self.low) = (high, low)
    }

    package var description: String { Hexadecimal.encode(bytes) }
}
