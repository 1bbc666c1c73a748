/// A signature algorithm of tokens.
///
/// All have a public key: a server that can check tokens must not be able to create them.
///
/// Source: RFC 7518 §3.1, RFC 8037 §3.1.
package enum SigningAlgorithm: String, CaseIterable, Sendable {
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
