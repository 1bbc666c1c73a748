import Crypto
import FoundationEssentials

/// The name under which all messages of a story are sent, so that a later one replaces an earlier one.
///
/// 16 characters: base32 in lower case (RFC 4648 §6) of the first 80 bits of a SHA-256. Every push service accepts this
/// form unchanged: APNs (`apns-collapse-id`, 64 bytes), FCM (`collapse_key` and `tag`), WNS (`X-WNS-Tag`, 16 letters
/// and digits) and Web Push (`Topic`, 32 characters of base64url).
package enum StoryName {
    package static let length = 16
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567".utf8)
    private static let bitsOfDigit: UInt64 = 5

    /// Returns the name for some parts; equal parts give equal names, and the boundaries between parts count.
    package static func of(_ parts: String...) -> String {
        var hash = SHA256()
        for part in parts { hash.update(data: Array(part.utf8) + [0]) }
        var digits: [UInt8] = []
        var bits: UInt64 = 0
        var count: UInt64 = 0
        for byte in hash.finalize() {
            bits = bits << 8 | UInt64(byte)
            count += 8
            while count >= bitsOfDigit, digits.count < length {
                count -= bitsOfDigit
                digits.append(alphabet[Int(bits >> count & 31)])
            }
            bits &= 0xFF
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
