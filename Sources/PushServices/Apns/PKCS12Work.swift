import HubProtocol
import SwiftASN1

/// The work that a PKCS #12 file asks for before its password can be checked.
///
/// BoringSSL accepts 100 million iterations for each of a file's keys, which take a minute each. A file names the
/// iterations itself, always after the salt: in `MacData` (RFC 7292 §4), `PBEParameter` (RFC 8018 A.3) and
/// `PBKDF2-params` (RFC 8018 A.2).
enum PKCS12Work {
    /// The largest sum of iterations that is accepted.
    ///
    /// They take a second. Keychain, OpenSSL and Windows write 2,000 to 600,000 for a key.
    static let maximumIterations: UInt64 = 3_000_000

    /// Returns the sum of the iterations that a file names.
    ///
    /// - Throws: An error of SwiftASN1 for bytes that are not BER.
    static func iterations(_ file: [UInt8]) throws -> UInt64 { iterations(in: try BER.parse(file)) }

    private static func iterations(in node: ASN1Node) -> UInt64 {
        switch node.content {
        // Contents are encoded inside octet strings; encrypted ones and salts are not BER.
        case .primitive(let bytes):
            guard node.identifier == .octetString, let inner = try? BER.parse(bytes) else { return 0 }
            return iterations(in: inner)
        case .constructed(let children):
            var sum: UInt64 = 0
            var followsSalt = false
            for child in children {
                if followsSalt, child.identifier == .integer, case .primitive(let digits) = child.content {
                    sum = sum.saturatingAdd(number(digits))
                }
                followsSalt = child.identifier == .octetString
                sum = sum.saturatingAdd(iterations(in: child))
            }
            return sum
        }
    }

    private static func number(_ digits: ArraySlice<UInt8>) -> UInt64 {
        let digits = digits.drop { $0 == 0 }
        return digits.count > 8 ? .max : digits.reduce(0) { $0 << 8 | UInt64($1) }
    }
}
