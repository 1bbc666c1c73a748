import Crypto
import Foundation
import HubProtocol
import Testing

@testable import PushServices

@Suite struct WebPushContentTests {
    private func bytes(_ text: String) throws -> [UInt8] { try #require(Base64URL.decode(text)) }

    private func text(_ key: SymmetricKey) -> String { Base64URL.encode(key.withUnsafeBytes { Array($0) }) }

    /// Source: RFC 8291 §5 and appendix A.
    @Test func `the message of RFC 8291 is encrypted byte for byte`() throws {
        let browser = WebPushBrowser(
            try P256.KeyAgreement.PrivateKey(rawRepresentation: bytes("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94")),
            secret: try bytes("BTBZMqHH6r4Tts7J_aSIgg")
        )
        let channel = browser.channel()
        #expect(
            channel.p256dh
                == "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
        )
        let receiver = try BrowserReceiver(channel)
        let sender = try P256.KeyAgreement.PrivateKey(
            rawRepresentation: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")
        )
        let salt = try bytes("DGv6ra1nlYgDCS1FRnbzlw")
        let keys = try WebPushKeySchedule(sender, receiver, salt: salt)
        #expect(
            Base64URL.encode(Array(sender.publicKey.x963Representation))
                == "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
        )
        #expect(text(keys.sharedSecret) == "kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs")
        #expect(text(keys.authenticated) == "Snr3JMxaHVDXHWJn5wdC52WjpCtd2EIEGBykDcZW32k")
        #expect(
            Base64URL.encode(keys.keyInfo) == """
                V2ViUHVzaDogaW5mbwAEJXGyvs3942BVGq8e0PTNNmwRzr5VX4m8t7GGpTM5FzFo7OLr4BhZe9MEebhuPI-OztV3ylkYfpJGmQ22ggCLDg\
                T-M_SrDepxkU21WCP3O1SUj0EwbZIHMtu5pZpTKGSCIA5Zent7wmC6HCJ5mFgJkuk5cwAvMBKiiujwa7t45ewP
                """
        )
        #expect(text(keys.input) == "S4lYMb_L0FxCeq0WhDx813KgSYqU26kOyzWUdsXYyrg")
        #expect(text(keys.salted) == "09_eUZGrsvxChDCGRCdkLiDXrReGOEVeSCdCcPBSJSc")
        #expect(text(keys.contentKey) == "oIhVW04MRdy2XN9CiKLxTg")
        #expect(text(keys.nonce) == "4h_95klXJ5E_qnoN")
        let plaintext = try bytes("V2hlbiBJIGdyb3cgdXAsIEkgd2FudCB0byBiZSBhIHdhdGVybWVsb24")
        let body = try WebPushContent.encrypt(plaintext, for: receiver, sender: sender, salt: salt, paddedTo: [])
        #expect(body.count == 144 && WebPushContent.headerBytes == 86)
        #expect(
            Base64URL.encode(Array(body[..<86])) == """
                DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6P\
                Bru3jl7A8
                """
        )
        #expect(
            Base64URL.encode(Array(body[86...]))
                == "8pfeW0KbunFT06SuDKoJH9Ql87S1QUrdirN6GcG7sFz1y1sqLgVi1VhjVkHsUoEsbI_0LpXMuGvnzQ"
        )
        #expect(
            Base64URL.encode(body) == """
                DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6P\
                Bru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN
                """
        )
        #expect(try browser.read(body) == plaintext)
    }

    /// Source: RFC 8188 §3.1 and §3.2.
    @Test(arguments: [
        ("yqdlZ-tYemfogSmv7Ws5PQ", "I1BsxtFttlv3u_Oo94xnmwAAEAAA-NAVub2qFgBEuQKRapoZu-IxkIva3MEB1PD-ly8Thjg", ""),
        (
            "BO3ZVPxUlnLORbVGMpbT1Q",
            """
            uNCkWiNYzKTnBN9ji3-qWAAAABkCYTHOG8chz_gnvgOqdGYovxyjuqRyJFjEDyoF1Fvkj6hQPdPHI51OEUKEpgz3SsLWIqS_uA
            """, "a1"
        ),
    ])
    func `the tests' own decoder reads the content of RFC 8188`(_ key: String, _ body: String, _ id: String) throws {
        let input = SymmetricKey(data: try bytes(key))
        var keyID: [UInt8]?
        let text = try WebPushDecoder.decode(bytes(body)) { given in
            keyID = given
            return input
        }
        #expect(String(decoding: text, as: UTF8.self) == "I am the walrus")
        #expect(keyID == Array(id.utf8))
    }

    @Test(arguments: [0, 1, 15, 16, 17, 1_000, 3_992, 3_993])
    func `what is encrypted is what the browser reads`(_ count: Int) throws {
        let browser = WebPushBrowser()
        let plaintext = (0..<count).map { _ in UInt8.random(in: .min ... .max) }
        let receiver = try BrowserReceiver(browser.channel())
        let body = try WebPushContent.encrypt(plaintext, for: receiver)
        #expect(try browser.read(body) == plaintext)
        #expect(throws: (any Error).self) { try WebPushBrowser().read(body) }
        #expect(throws: (any Error).self) { try WebPushBrowser(browser.privateKey).read(body) }
        let bare = try WebPushContent.encrypt(plaintext, for: receiver, paddedTo: [])
        #expect(try browser.read(bare) == plaintext)
        #expect(bare.count == count + 103)
    }

    @Test(arguments: [
        (0, 256), (1, 256), (255, 256), (256, 512), (511, 512), (512, 1_024), (1_023, 1_024), (1_024, 2_048),
        (2_047, 2_048), (2_048, 2_049), (3_993, 3_994),
    ])
    func `short messages have one of a few lengths, and long ones their own`(_ count: Int, _ padded: Int) throws {
        let browser = WebPushBrowser()
        // Zeros at the end look like padding.
        let plaintext = (0..<count).map { UInt8(clamping: count - $0 - 10) }
        let body = try WebPushContent.encrypt(plaintext, for: BrowserReceiver(browser.channel()))
        #expect(body.count == WebPushContent.headerBytes + padded + 16)
        #expect(body.count <= 4_096)
        #expect(try browser.read(body) == plaintext)
    }

    @Test func `the longest message fills the body that every service takes`() {
        #expect(WebPushContent.maximumPlaintext == 3_993)
    }

    @Test func `no two messages share a salt or a key pair`() throws {
        let receiver = try BrowserReceiver(WebPushBrowser().channel())
        let bodies = try (0..<50).map { _ in try WebPushContent.encrypt([1, 2, 3], for: receiver) }
        #expect(Set(bodies.map { Array($0[..<16]) }).count == 50)
        #expect(Set(bodies.map { Array($0[21..<86]) }).count == 50)
    }

    @Test func `keys are read in either alphabet and with or without padding`() throws {
        // Both have characters of which the two alphabets have different ones.
        var browser = WebPushBrowser(secret: [UInt8](repeating: 0xFB, count: 15) + [0xFF])
        while !browser.channel().p256dh.contains("-") || !browser.channel().p256dh.contains("_") {
            browser = WebPushBrowser(secret: browser.secret)
        }
        let plain = browser.channel()
        func standard(_ text: String) -> String {
            text.replacing("-", with: "+").replacing("_", with: "/")
        }
        for (p256dh, auth) in [
            (plain.p256dh, plain.auth), (plain.p256dh + "=", plain.auth + "=="),
            (standard(plain.p256dh), standard(plain.auth)), (standard(plain.p256dh) + "=", standard(plain.auth) + "=="),
        ] {
            let receiver = try BrowserReceiver(BrowserPushChannel(endpoint: "", p256dh: p256dh, auth: auth))
            #expect(Array(receiver.publicKey.x963Representation) == Base64URL.decode(plain.p256dh))
            #expect(receiver.secret == browser.secret)
        }
    }

    @Test(arguments: [
        "empty", "short key", "long key", "compressed", "off the curve", "no base64", "hybrid", "short secret",
        "long secret", "empty secret", "secret no base64",
    ])
    func `keys that no message can be encrypted for are refused`(_ fault: String) throws {
        let browser = WebPushBrowser()
        var key = Array(browser.privateKey.publicKey.x963Representation)
        var secret = browser.secret
        switch fault {
        case "short key": key.removeLast()
        case "long key": key.append(0)
        case "compressed": key = Array(browser.privateKey.publicKey.compressedRepresentation)
        case "off the curve": key[64] ^= 1
        case "hybrid": key[0] = 0x06
        case "short secret": secret.removeLast()
        case "long secret": secret.append(0)
        case "empty secret": secret = []
        default: break
        }
        let channel = BrowserPushChannel(
            endpoint: "",
            p256dh: fault == "empty" ? "" : fault == "no base64" ? "B*" : Base64URL.encode(key),
            auth: fault == "secret no base64" ? "====" : Base64URL.encode(secret)
        )
        #expect(throws: BrowserReceiver.BadKey.self) { try BrowserReceiver(channel) }
    }
}
