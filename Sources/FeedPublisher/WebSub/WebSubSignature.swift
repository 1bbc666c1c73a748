internal import Crypto
internal import FoundationEssentials

/// The proof that a delivery comes from the hub that received the secret.
///
/// Source: WebSub §7.1 and §8. `sha1` is accepted because large hubs send nothing else; as an HMAC it is still secure.
enum WebSubSignature {
    static let field = "X-Hub-Signature"

    /// Checks `method=hex` against the transmitted body, in constant time.
    static func isValid(_ value: String?, of body: [UInt8], secret: String) -> Bool {
        guard let value, let separator = value.firstIndex(of: "=") else { return false }
        let method = value[..<separator].filter { $0 != " " }.lowercased()
        guard let code = bytes(value[value.index(after: separator)...]) else { return false }
        let key = SymmetricKey(data: Array(secret.utf8))
        return switch method {
        case "sha1": HMAC<Insecure.SHA1>.isValidAuthenticationCode(code, authenticating: body, using: key)
        case "sha256": HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: body, using: key)
        case "sha384": HMAC<SHA384>.isValidAuthenticationCode(code, authenticating: body, using: key)
        case "sha512": HMAC<SHA512>.isValidAuthenticationCode(code, authenticating: body, using: key)
        default: false
        }
    }

    private static func bytes(_ hex: Substring) -> [UInt8]? {
        let digits = hex.utf8.filter { $0 != 0x20 }.map { Character(Unicode.Scalar($0)).hexDigitValue }
        guard !digits.isEmpty, digits.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        for position in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[position], let low = digits[position + 1] else { return nil }
            bytes.append(UInt8(high << 4 | low))
        }
        return bytes
    }
}
