internal import Crypto
internal import Formats
internal import FoundationEssentials

/// The key of an entry: 16 bytes of a SHA-256, so that even an identifier of a megabyte takes little room.
///
/// Keys are stored, so they are stable across runs and versions. A key is only meaningful within its own feed, except
/// the key of a link, which is the same in every feed.
package struct EntryKey: Hashable, Sendable, CustomStringConvertible {
    package static let byteCount = 16

    private let value: UInt128

    /// Restores a stored key; `nil` unless there are exactly ``byteCount`` bytes.
    package init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        value = bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
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
        value = digest.withUnsafeBytes { UInt128(bigEndian: $0.loadUnaligned(as: UInt128.self)) }
    }

    package var bytes: [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }

    /// Restores a key from its ``description``.
    package init?(hexadecimal text: String) {
        guard text.utf8.count == Self.byteCount * 2, let value = UInt128(text, radix: 16) else { return nil }
        self.value = value
    }

    package var description: String { Hexadecimal.encode(bytes) }
}
