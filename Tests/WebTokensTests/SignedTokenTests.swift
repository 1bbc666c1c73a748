import Crypto
import CryptoExtras
import Formats
import Foundation
import HubProtocol
import Testing

@testable import WebTokens

/// Vectors of the specifications, and tokens that are damaged or confused.
@Suite struct SignedTokenTests {
    private static let all = Set(SigningAlgorithm.allCases)

    private func key(_ json: String) throws -> VerificationKey {
        try #require(VerificationKey(try JSONReader.read(Array(json.utf8))))
    }

    private static let payload =
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ"
    private static let rsaModulus = """
        ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZ\
        S-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2\
        R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcD\
        TW9gb54h4FRWyuXpoQ
        """
    private static let rsaSignature = """
        cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CU\
        Ar7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_d\
        O--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0ig\
        cN_IoypGlUPQGe77Rw
        """
    private static let rsaKey = #"{"kty":"RSA","n":"\#(rsaModulus)","e":"AQAB"}"#
    private static let x = "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
    private static let y = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
    private static let p256Key = #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(y)"}"#

    /// Source: RFC 7515 §A.2, §A.3.
    @Test(arguments: [
        ("eyJhbGciOiJSUzI1NiJ9", rsaSignature, rsaKey, SigningAlgorithm.rs256),
        (
            "eyJhbGciOiJFUzI1NiJ9",
            "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q", p256Key,
            SigningAlgorithm.es256
        ),
    ])
    func `the examples of RFC 7515 are valid`(
        header: String,
        signature: String,
        jwk: String,
        algorithm: SigningAlgorithm
    )
        throws
    {
        let token = try SignedToken("\(header).\(Self.payload).\(signature)", algorithms: Self.all)
        #expect(token.algorithm == algorithm && token.keyID == nil)
        #expect(token.claims["iss"]?.string == "joe" && token.claims["exp"]?.integer == 1_300_819_380)
        #expect(token.isSigned(by: try key(jwk)))
        let other = try key(jwk == Self.p256Key ? Self.rsaKey : Self.p256Key)
        #expect(!token.isSigned(by: other))
    }

    /// Source: RFC 8037 §A.4.
    @Test func `the example of RFC 8037 is valid`() throws {
        let jwk = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
        let signature = try #require(
            Base64URL.decode("hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg")
        )
        let signed = Array("eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc".utf8)
        #expect(try key(jwk).verify(signature, of: signed, .edDSA))
        #expect(try !key(jwk).verify(signature, of: signed.dropLast() + [0], .edDSA))
        for algorithm in SigningAlgorithm.allCases where algorithm != .edDSA {
            #expect(try !key(jwk).verify(signature, of: signed, algorithm))
        }
    }

    // MARK: Keys

    @Test(arguments: [
        "{}", #"{"kty":"oct","k":"AA"}"#, #"{"kty":"RSA"}"#, #"{"kty":"RSA","n":"AQAB","e":"AQAB"}"#,
        #"{"kty":"rsa","n":"\#(rsaModulus)","e":"AQAB"}"#, #"{"kty":"RSA","n":"\#(rsaModulus)","e":"A!"}"#,
        #"{"kty":"RSA","n":["\#(rsaModulus)"],"e":"AQAB"}"#,
        #"{"kty":"EC","crv":"P-384","x":"\#(x)","y":"\#(y)"}"#,
        #"{"kty":"EC","crv":"P-256","x":"\#(x)","y":"\#(x)"}"#,
        #"{"kty":"EC","x":"\#(x)","y":"\#(y)"}"#,
        #"{"kty":"OKP","crv":"Ed25519","x":"AA"}"#, #"{"kty":"OKP","crv":"Ed448","x":"AA"}"#,
    ])
    func `a key of another type, a short one and one that is not valid are not used`(json: String) throws {
        #expect(VerificationKey(try JSONReader.read(Array(json.utf8))) == nil)
    }

    @Test func `a key with padding or in ordinary base64 is read`() throws {
        let modulus = Self.rsaModulus.replacing("-", with: "+").replacing("_", with: "/")
        let key = try key(#"{"kty":"RSA","n":"\#(modulus)==","e":"AQAB"}"#)
        let token = try SignedToken("eyJhbGciOiJSUzI1NiJ9.\(Self.payload).\(Self.rsaSignature)", algorithms: Self.all)
        #expect(token.isSigned(by: key))
    }

    @Test func `a key of RSA has at least 2,048 bits`() throws {
        let key = try _RSA.Signing.PrivateKey(unsafeKeySize: .init(bitCount: 1_024)).publicKey.getKeyPrimitives()
        let (n, e) = (Base64URL.encode(Array(key.modulus)), Base64URL.encode(Array(key.publicExponent)))
        #expect(VerificationKey(try JSONReader.read(Array(#"{"kty":"RSA","n":"\#(n)","e":"\#(e)"}"#.utf8))) == nil)
    }

    // MARK: Tokens

    private static let ec = P256.Signing.PrivateKey()
    private static let rsa = Result { try _RSA.Signing.PrivateKey(keySize: .bits2048) }

    private static func signed(_ algorithm: SigningAlgorithm, _ more: JSONText.Members = []) throws
        -> (token: String, key: VerificationKey)
    {
        let claims: JSONText = ["iss": "a\"b", "exp": JSONText(UInt32.random(in: 0 ... .max))]
        if algorithm == .es256 {
            return (try SignedToken.es256(header: more, claims: claims, key: ec), .p256(ec.publicKey))
        }
        let key = try rsa.get()
        return (try SignedToken.rs256(header: more, claims: claims, key: key), .rsa(key.publicKey))
    }

    @Test(arguments: [SigningAlgorithm.es256, .rs256])
    func `what is signed is read again, and is not valid with another key`(algorithm: SigningAlgorithm) throws {
        let (text, key) = try Self.signed(algorithm, [("kid", "k"), ("typ", "JWT")])
        let token = try SignedToken(text, algorithms: [algorithm], types: ["jwt"])
        #expect(token.isSigned(by: key) && token.keyID == "k" && token.claims["iss"]?.string == "a\"b")
        #expect(!token.isSigned(by: .p256(P256.Signing.PrivateKey().publicKey)))
        #expect(!token.isSigned(by: .ed25519(Curve25519.Signing.PrivateKey().publicKey)))
    }

    @Test(arguments: [SigningAlgorithm.es256, .rs256])
    func `a token of which any character was changed, removed or doubled is refused`(algorithm: SigningAlgorithm) throws
    {
        let (text, key) = try Self.signed(algorithm)
        let original = try SignedToken(text, algorithms: Self.all)
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+ ".utf8)
        for index in text.utf8.indices {
            let (head, tail) = (Array(text.utf8[..<index]), Array(text.utf8[index...]))
            let other = alphabet.filter { $0 != tail[0] }.randomElement() ?? 0
            for changed in [head + [other] + tail.dropFirst(), head + tail.dropFirst(), head + [tail[0]] + tail] {
                guard let token = try? SignedToken(String(decoding: changed, as: UTF8.self), algorithms: Self.all)
                else { continue }
                // The last character of a signature has bits that do not count.
                let isSame = token.signed == original.signed && token.signature == original.signature
                #expect(isSame || !token.isSigned(by: key))
            }
        }
    }

    private func token(_ header: String) -> String {
        "\(Base64URL.encode(Array(header.utf8))).\(Self.payload).AAAA"
    }

    @Test(arguments: ["none", "None", "HS256", "HS512", "es256", "ES512", ""])
    func `an algorithm that is not in the list is refused, whatever the signature`(algorithm: String) {
        #expect(throws: SignedTokenError.algorithm) {
            try SignedToken(token(#"{"alg":"\#(algorithm)"}"#), algorithms: Self.all)
        }
        let unsigned = token(#"{"alg":"none"}"#).dropLast(4)
        #expect(throws: SignedTokenError.algorithm) { try SignedToken(unsigned, algorithms: Self.all) }
    }

    @Test func `a token must have one of the caller's algorithms`() throws {
        let (text, key) = try Self.signed(.es256)
        #expect(throws: SignedTokenError.algorithm) { try SignedToken(text, algorithms: [.rs256, .edDSA]) }
        #expect(try SignedToken(text, algorithms: [.es256]).isSigned(by: key))
    }

    @Test func `a secret made of a public key signs nothing`() throws {
        let secret = SymmetricKey(data: Data(Self.p256Key.utf8))
        let signed = "\(Base64URL.encode(Array(#"{"alg":"HS256"}"#.utf8))).\(Self.payload)"
        let code = Array(HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: secret))
        #expect(throws: SignedTokenError.algorithm) {
            try SignedToken("\(signed).\(Base64URL.encode(code))", algorithms: Self.all)
        }
        #expect(try !key(Self.p256Key).verify(code, of: Array(signed.utf8), .es256))
    }

    @Test(arguments: [
        (#"{"alg":"ES256","crit":[]}"#, "it has 'crit'"), (#"{"alg":"ES256","typ":"logout+jwt"}"#, "its 'typ'"),
        (#"{"alg":"ES256","typ":7}"#, "its 'typ'"), (#"{"alg":"ES256","kid":7}"#, "its 'kid'"),
        (#"{"alg":"ES256","alg":"ES256"}"#, "its header is not an object"), ("[]", "its header is not an object"),
    ])
    func `a header with an extension or of another kind is refused`(header: String, reason: String) {
        #expect(throws: SignedTokenError.malformed(reason)) {
            try SignedToken(token(header), algorithms: Self.all, types: ["jwt"])
        }
    }

    @Test func `a token has a limit`() throws {
        let claims: JSONText = ["x": JSONText(String(repeating: "x", count: 6_200))]
        let long = try SignedToken.es256(header: [], claims: claims, key: Self.ec)
        #expect(long.utf8.count > SignedToken.maximumBytes)
        #expect(throws: SignedTokenError.malformed("larger than 8192 bytes")) {
            try SignedToken(long, algorithms: Self.all)
        }
    }
}
