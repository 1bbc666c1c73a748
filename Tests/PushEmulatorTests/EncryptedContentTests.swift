import Crypto
import HubProtocol
import Testing

@testable import PushEmulator

@Suite struct EncryptedContentTests {
    /// Source: RFC 8291 §5 and appendix A.
    private static let body = """
        DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl\
        7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
        """
    private static let privateKey = "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"
    private static let secret = "BTBZMqHH6r4Tts7J_aSIgg"

    private func subscription() throws -> BrowserSubscription {
        BrowserSubscription(
            privateKey: try P256.KeyAgreement.PrivateKey(
                rawRepresentation: try #require(Base64URL.decode(Self.privateKey))
            ),
            secret: try #require(Base64URL.decode(Self.secret))
        )
    }

    @Test func theMessageOfTheSpecificationIsDecrypted() throws {
        let body = try #require(Base64URL.decode(Self.body))
        let content = try #require(EncryptedContent(body))
        let text = content.decrypted(for: try subscription())
        #expect(text == Array("When I grow up, I want to be a watermelon".utf8))
    }

    @Test func everyFlippedBitIsNoticed() throws {
        let body = try #require(Base64URL.decode(Self.body))
        let subscription = try subscription()
        // The record size, bytes 16 to 19, is not authenticated: larger ones hold the record as well.
        for index in body.indices where !(16..<20).contains(index) {
            var changed = body
            changed[index] ^= 1
            #expect(EncryptedContent(changed)?.decrypted(for: subscription) == nil, "byte \(index)")
        }
    }

    @Test func aBodyCutAtAnyByteIsNotAMessage() throws {
        let body = try #require(Base64URL.decode(Self.body))
        let subscription = try subscription()
        for length in body.indices {
            #expect(EncryptedContent(Array(body[..<length]))?.decrypted(for: subscription) == nil, "\(length) bytes")
        }
    }
}
