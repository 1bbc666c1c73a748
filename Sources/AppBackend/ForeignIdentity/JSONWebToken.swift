import Formats
import HubProtocol

/// A signature algorithm of tokens.
///
/// All have a public key: a server that can check tokens must not be able to create them.
///
/// Source: RFC 7518 §3.1, RFC 8037 §3.1.
enum SigningAlgorithm: String, CaseIterable, Sendable {
    case rs256 = "RS256"
    case rs384 = "RS384"
    case rs512 = "RS512"
    case ps256 = "PS256"
    case ps384 = "PS384"
    case ps512 = "PS512"
    case es256 = "ES256"
    case es384 = "ES384"
    case edDSA = "EdDSA"
}

/// The reasons why a provider's token is refused; for the log only, never for the client.
enum TokenProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// Not a JSON Web Token, or a kind of token that does not sign users in.
    case malformed(String)
    case algorithm
    /// The provider has no key with this id and algorithm.
    case unknownKey
    case signature
    /// A claim is missing or has a wrong value.
    case claim(String)
    /// The provider's keys are not available yet.
    case noKeys

    var description: String {
        switch self {
        case .malformed(let reason): "malformed: \(reason)"
        case .algorithm: "its algorithm is not accepted"
        case .unknownKey: "no key of the provider has its 'kid' and 'alg'"
        case .signature: "its signature is not valid"
        case .claim(let name): "its claim '\(name)' is missing or not the expected one"
        case .noKeys: "the provider's keys cannot be read"
        }
    }
}

/// A token from a client, before its signature is checked.
///
/// Source: RFC 7515 (compact serialization), RFC 7519, RFC 8725 (best practices).
struct JSONWebToken: Sendable {
    static let maximumBytes = 8_192
    /// The tolerated difference between the provider's clock and ours.
    static let leeway = Duration.seconds(60)
    /// Values of `typ` of users' tokens; other values are for other purposes, such as a logout.
    private static let types = ["jwt", "at+jwt", "application/at+jwt"]
    /// Bytes of the longest subject (OpenID Connect Core §2).
    private static let maximumSubject = 255

    let algorithm: SigningAlgorithm
    /// The `kid` member; `nil` without one.
    let keyID: String?
    let claims: JSONNode
    /// The signed bytes.
    let signed: [UInt8]
    let signature: [UInt8]

    init(_ text: String) throws(TokenProblem) {
        guard text.utf8.count <= Self.maximumBytes else { throw .malformed("larger than \(Self.maximumBytes) bytes") }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw .malformed("not three parts") }
        let header = try Self.object(parts[0], "header")
        (algorithm, keyID) = try Self.read(header)
        claims = try Self.object(parts[1], "payload")
        guard let signature = Base64URL.decode(String(parts[2])), !signature.isEmpty else {
            throw .malformed("no signature")
        }
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    private static func object(_ part: Substring, _ name: String) throws(TokenProblem) -> JSONNode {
        // Repeated names are refused: two readers could use different values.
        guard let bytes = Base64URL.decode(String(part)), let node = try? JSONReader.read(bytes), node.members != nil
        else { throw .malformed("its \(name) is not an object") }
        return node
    }

    private static func read(_ header: JSONNode) throws(TokenProblem) -> (SigningAlgorithm, String?) {
        // No extension is supported (RFC 7515 §4.1.11).
        guard header["crit"] == nil else { throw .malformed("it has 'crit'") }
        if let type = header["typ"] {
            guard let name = type.string?.lowercased(), types.contains(name) else { throw .malformed("its 'typ'") }
        }
        guard let algorithm = header["alg"]?.string.flatMap(SigningAlgorithm.init) else { throw .algorithm }
        guard let keyID = header["kid"] else { return (algorithm, nil) }
        guard let text = keyID.string else { throw .malformed("its 'kid'") }
        return (algorithm, text)
    }

    /// Checks the claims.
    ///
    /// - Returns: `sub`.
    func subject(issuer: String, audience: String, at now: Timestamp) throws(TokenProblem) -> String {
        guard claims["iss"]?.string == issuer else { throw .claim("iss") }
        guard isFor(audience) else { throw .claim("aud") }
        let now = Double(now.milliseconds) / 1_000
        let leeway = Double(Self.leeway.components.seconds)
        guard let expiry = try time("exp"), now < expiry + leeway else { throw .claim("exp") }
        for name in ["nbf", "iat"] {
            if let start = try time(name), now + leeway < start { throw .claim(name) }
        }
        guard let subject = claims["sub"]?.string, (1...Self.maximumSubject).contains(subject.utf8.count) else {
            throw .claim("sub")
        }
        return subject
    }

    private func isFor(_ audience: String) -> Bool {
        guard let claim = claims["aud"] else { return false }
        if case .array(let elements) = claim.content { return elements.contains { $0.string == audience } }
        return claim.string == audience
    }

    /// A time in seconds since 1970, which may have a fraction (RFC 7519 §2); `nil` without the claim.
    private func time(_ name: String) throws(TokenProblem) -> Double? {
        guard let claim = claims[name] else { return nil }
        guard case .number(let text) = claim.content, let seconds = Double(text), seconds.isFinite else {
            throw .claim(name)
        }
        return seconds
    }
}
