import Crypto
import Formats
import FoundationEssentials
import NetworkAddresses

/// A `SharedAccessSignature` token: proof of a key, for a resource, until a time.
///
/// Source: protocol §1.2–§1.4.
package struct SharedAccessToken: Sendable, Equatable {
    /// Longest header accepted, in bytes.
    package static let maximumHeaderLength = 8_192
    /// Tolerance for different clocks of two machines, in seconds.
    package static let allowedClockSkew: Int64 = 60

    /// `sr` exactly as received: the signature covers this text, so it is never decoded and encoded again.
    package let rawResource: String
    package let keyName: String
    /// The expiry in seconds since 1970.
    package let expiresAt: Int64

    private let rawExpiry: String
    private let signature: String
    /// The path segments of the resource; `nil` if it covers nothing.
    ///
    /// They are read here because a token is parsed once, and checked for many requests.
    private let scope: [String]?

    /// Reads an `Authorization` value, without verifying it.
    ///
    /// - Throws: ``ProtocolError`` 40102 for an empty header or another scheme, 40105 for a token that cannot be read.
    package init(parsing header: String) throws(ProtocolError) {
        let text = header.trimmed.utf8
        guard !text.isEmpty else { throw .unauthorized(.missingToken) }
        guard text.count <= Self.maximumHeaderLength else {
            throw .unauthorized(.malformedToken("The token is longer than \(Self.maximumHeaderLength) bytes."))
        }
        let scheme = text.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        guard String(Substring(scheme)).lowercased() == "sharedaccesssignature" else {
            throw .unauthorized(.missingToken)
        }

        // Splitting characters would be slow: a token has hundreds.
        var fields: [String: Substring] = [:]
        for pair in Substring(text.dropFirst(scheme.count)).trimmed.utf8.split(separator: UInt8(ascii: "&")) {
            guard let equals = pair.firstIndex(of: UInt8(ascii: "=")) else { continue }
            let name = String(Substring(pair[..<equals])).lowercased()
            guard Self.fieldNames.contains(name) else { continue }
            guard fields.updateValue(Substring(pair[equals...].dropFirst()), forKey: name) == nil else {
                throw .unauthorized(.malformedToken("The token names '\(name)' twice."))
            }
        }
        func field(_ name: String) throws(ProtocolError) -> Substring {
            guard let value = fields[name], !value.isEmpty else {
                throw .unauthorized(.malformedToken("The token has no '\(name)'."))
            }
            return value
        }
        let resource = try field("sr")
        let expiry = try field("se")
        guard expiry.isDigits, let seconds = Int64(expiry) else {
            throw .unauthorized(.malformedToken("The token's 'se' is not a time in whole seconds."))
        }
        guard let signature = PercentEncoding.decode(try field("sig")),
            let keyName = PercentEncoding.decode(try field("skn"))
        else {
            throw .unauthorized(.malformedToken("The token's 'sig' or 'skn' is not percent-encoded UTF-8."))
        }
        rawResource = String(resource)
        rawExpiry = String(expiry)
        expiresAt = seconds
        self.signature = signature
        self.keyName = keyName
        scope = Self.scope(of: rawResource)
    }

    private static let fieldNames: Set<String> = ["sr", "sig", "se", "skn"]
}

extension SharedAccessToken {
    /// Returns a whole `Authorization` value.
    ///
    /// - Parameters:
    ///   - resource: The address to sign for; addresses below it are covered, too. Signed in lower case (§1.2).
    ///   - keyName: The rule that the key belongs to.
    ///   - key: The key as written; its base64 is not decoded (§1.1).
    ///   - expiresAt: In seconds since 1970.
    /// - Returns: The scheme and the four fields.
    package static func sign(resource: String, keyName: String, key: String, expiresAt: Int64) -> String {
        let raw = PercentEncoding.encode(resource.lowercased(), uppercase: false)
        let signature = PercentEncoding.encode(signature(resource: raw, expiry: String(expiresAt), key: key))
        let name = PercentEncoding.encode(keyName)
        return "SharedAccessSignature sr=\(raw)&sig=\(signature)&se=\(expiresAt)&skn=\(name)"
    }

    /// True if the token was made with `key`; takes the same time for any wrong signature.
    package func isSigned(with key: String) -> Bool {
        ConstantTime.equal(
            Self.signature(resource: rawResource, expiry: rawExpiry, key: key).utf8,
            signature.utf8
        )
    }

    /// True if `now`, in seconds since 1970, is after the expiry by more than the tolerance.
    package func isExpired(at now: Int64) -> Bool {
        now > expiresAt && now - expiresAt > Self.allowedClockSkew
    }

    /// Returns the time at which anything that was opened with the token at `now` must end, in seconds since 1970: the
    /// token's expiry.
    ///
    /// A token past its expiry that is accepted because clocks differ is valid until it is refused.
    package func validUntil(at now: Int64) -> Int64 {
        guard now >= expiresAt else { return expiresAt }
        let (end, overflows) = expiresAt.addingReportingOverflow(Self.allowedClockSkew)
        return overflows ? .max : end
    }

    private static func signature(resource: String, expiry: String, key: String) -> String {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("\(resource)\n\(expiry)".utf8),
            using: SymmetricKey(data: Array(key.utf8))
        )
        return Data(code).base64EncodedString()
    }
}

extension SharedAccessToken {
    /// True if the signed resource is `path` or contains it, compared by segments and ignoring case.
    ///
    /// Scheme, host, port and query are ignored (§1.4.5), because the host differs behind a proxy. No resource covers a
    /// path with `.` or `..` segments, because programs read it differently. The path is given as received, with or
    /// without its query.
    package func covers(path: String) -> Bool {
        guard let scope else { return false }
        let segments = Self.segments(path.utf8.prefix { !Self.endsPath($0) })
        guard !segments.contains("."), !segments.contains("..") else { return false }
        return segments.starts(with: scope)
    }

    /// The path segments of `sr`; `nil` if it is not an absolute URL even after it is decoded a second time, which some
    /// clients make necessary.
    ///
    /// Bytes are examined, not characters: a combining mark after a slash would hide the slash.
    private static func scope(of rawResource: String) -> [String]? {
        var text = rawResource
        for _ in 0..<2 where URLParts(text) == nil {
            guard let decoded = PercentEncoding.decode(text) else { return nil }
            text = decoded
        }
        guard let parts = URLParts(text), !parts.authority.isEmpty else { return nil }
        let segments = segments(parts.rest.utf8.prefix { !endsPath($0) })
        return segments.contains(".") || segments.contains("..") ? nil : segments
    }

    private static func endsPath(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "?") || byte == UInt8(ascii: "#") }

    /// Decodes each segment separately, so that an escaped slash cannot move a boundary.
    private static func segments(_ path: Substring.UTF8View) -> [String] {
        path.split(separator: UInt8(ascii: "/")).map { bytes in
            let raw = String(decoding: bytes, as: UTF8.self)
            return (PercentEncoding.decode(raw) ?? raw).lowercased()
        }
    }
}
