import Crypto
import CryptoExtras
import Formats
import Foundation
import HubProtocol
import NIOCore
import NIOSSL
import OutboundHTTP
import SwiftASN1
import X509

/// A hub's credential for APNs, checked.
struct ApnsCredential: Sendable {
    enum Proof: Sendable {
        case key(ProviderKey)
        case certificate(ClientCertificate, expiresAt: Timestamp)
    }

    /// APNs' production or sandbox host.
    let host: String
    let proof: Proof
    /// The bundle id that messages are for, as the credential spells it.
    let bundle: String
    /// Topics that the operator allows in addition to the bundle id and its suffixed forms.
    let topics: Set<String>
    /// The team id; empty if a certificate does not name it.
    private let team: String

    private static let production = "api.push.apple.com"
    private static let sandbox = "api.sandbox.push.apple.com"
    /// Names that Apple and Azure have used for the two hosts.
    private static let hosts = [
        production: production, "gateway.push.apple.com": production,
        sandbox: sandbox, "api.development.push.apple.com": sandbox, "gateway.sandbox.push.apple.com": sandbox,
    ]

    init(_ credential: PlatformCredential) throws(BadCredential) {
        host = try Self.host(credential["Endpoint"])
        topics = Set((credential["Topics"] ?? "").split { $0 == "," || $0.isWhitespace }.map(String.init))
        if let token = credential["Token"], !token.isEmpty {
            team = try Self.id(credential["AppId"], "AppId", "the team id")
            let keyID = try Self.id(credential["KeyId"], "KeyId", "the key's id")
            bundle = try Self.bundle(credential["AppName"])
            proof = .key(ProviderKey(team: team, keyID: keyID, key: try Self.key(token)))
        } else {
            let certificate = try ApnsCertificate(
                credential["ApnsCertificate"] ?? "",
                password: credential["CertificateKey"] ?? ""
            )
            if let name = credential["AppName"], !name.isEmpty {
                bundle = try Self.bundle(name)
                guard certificate.topics.isEmpty || certificate.topics.contains(bundle) else {
                    let known = certificate.topics.sorted().joined(separator: ", ")
                    throw BadCredential("AppName is '\(bundle)', but ApnsCertificate is for \(known)")
                }
            } else if let topic = certificate.bundle {
                bundle = topic
            } else {
                throw BadCredential("ApnsCertificate names no app (no UID): AppName is missing")
            }
            team = certificate.team
            proof = .certificate(certificate.client, expiresAt: certificate.expiresAt)
        }
    }

    /// The team, app and environment whose handles the credential reaches, in the form of ``PlatformCredential``.
    var audience: String {
        PlatformCredential.apnsAudience(team: team, bundle: bundle, isSandbox: host == Self.sandbox)
    }

    private static func host(_ endpoint: String?) throws(BadCredential) -> String {
        guard let endpoint, !endpoint.isEmpty else { return production }
        let host = endpoint.contains("://") ? URLComponents(string: endpoint)?.host : endpoint
        guard let known = host.flatMap({ hosts[$0.lowercased()] }) else {
            throw BadCredential("Endpoint is not one of Apple's: https://\(production) or https://\(sandbox)")
        }
        return known
    }

    private static func id(_ text: String?, _ name: String, _ meaning: String) throws(BadCredential) -> String {
        let text = text ?? ""
        guard text.utf8.count == 10, text == text.uppercased(), text.hasOnlyLettersAndDigits() else {
            throw BadCredential("\(name) is not \(meaning): 10 capital letters and digits")
        }
        return text
    }

    private static func bundle(_ text: String?) throws(BadCredential) -> String {
        let text = text ?? ""
        guard (1...155).contains(text.utf8.count), text.hasOnlyLettersAndDigits(or: "-.") else {
            throw BadCredential("AppName is not a bundle id: letters, digits, '.' and '-'")
        }
        return text
    }

    private static func key(_ token: String) throws(BadCredential) -> P256.Signing.PrivateKey {
        let pem = PrivateKeyText.pem(token)
        if let key = try? P256.Signing.PrivateKey(pemRepresentation: pem) { return key }
        let isRSA = (try? Certificate.PrivateKey(pemEncoded: pem)) != nil
        throw BadCredential(
            isRSA
                ? "Token is a private key of another kind: APNs needs the P-256 key of a .p8 file"
                : "Token is not the private key of a .p8 file (PEM, or its base64)"
        )
    }
}

/// A certificate for APNs, from the PKCS #12 file that Keychain writes.
struct ApnsCertificate {
    let client: ClientCertificate
    let expiresAt: Timestamp
    /// The subject's UID; `nil` without one.
    let bundle: String?
    /// Topics that the certificate is for.
    let topics: Set<String>
    /// The subject's organizational unit, which is the team id in Apple's certificates; empty without one.
    let team: String

    /// Source: Apple, "Sending notification requests to APNs": the topics of a certificate.
    private static let topicsExtension: ASN1ObjectIdentifier = [1, 2, 840, 113635, 100, 6, 3, 6]
    private static let userID: ASN1ObjectIdentifier = [0, 9, 2342, 19_200_300, 100, 1, 1]
    private static let organizationalUnit: ASN1ObjectIdentifier = [2, 5, 4, 11]

    /// Reads the base64 of a PKCS #12 file, or PEM with certificate and key.
    ///
    /// - Throws: ``BadCredential`` with the reason.
    init(_ text: String, password: String) throws(BadCredential) {
        let (chain, key) = try Self.open(text, password: password)
        let leaf: Certificate
        do {
            let certificates = try chain.map { try Certificate(derEncoded: $0) }
            guard let first = certificates.first else {
                throw BadCredential("ApnsCertificate contains no certificate")
            }
            leaf = first
            let pem = try certificates.map { try $0.serializeAsPEM().pemString }.joined(separator: "\n")
            client = ClientCertificate(chain: pem, key: Self.pem(ofKey: key))
        } catch let error as BadCredential {
            throw error
        } catch {
            throw BadCredential("ApnsCertificate contains a certificate that cannot be read: \(error)")
        }
        expiresAt = Timestamp(leaf.notValidAfter)
        let names = leaf.subject.flatMap { $0 }
        let bundle = names.first { $0.type == Self.userID }.map { "\($0.value)" }
        self.bundle = bundle
        team = names.first { $0.type == Self.organizationalUnit }.map { "\($0.value)" } ?? ""
        var topics = Set(bundle.map { [$0] } ?? [])
        if let field = leaf.extensions[oid: Self.topicsExtension] {
            topics.formUnion(Self.topics([UInt8](field.value)))
        }
        self.topics = topics
    }

    private static func open(
        _ text: String,
        password: String
    ) throws(BadCredential) -> (chain: [[UInt8]], key: [UInt8]) {
        do {
            if text.contains("-----BEGIN") {
                let chain = try NIOSSLCertificate.fromPEMBytes(Array(text.utf8)).map { try $0.toDERBytes() }
                return (chain, try NIOSSLPrivateKey(bytes: Array(text.utf8), format: .pem).derBytes)
            }
            guard let file = Data(base64Encoded: text, options: .ignoreUnknownCharacters), !file.isEmpty else {
                throw BadCredential("ApnsCertificate is not base64 of a .p12 file")
            }
            guard try PKCS12Work.iterations([UInt8](file)) <= PKCS12Work.maximumIterations else {
                throw BadCredential(
                    """
                    ApnsCertificate asks for more than \(PKCS12Work.maximumIterations) iterations to derive its keys; \
                    export the file again with fewer
                    """
                )
            }
            let bundle = try NIOSSLPKCS12Bundle(buffer: [UInt8](file), passphrase: Array(password.utf8))
            return (try bundle.certificateChain.map { try $0.toDERBytes() }, try bundle.privateKey.derBytes)
        } catch let error as BadCredential {
            throw error
        } catch {
            throw BadCredential(
                "ApnsCertificate cannot be opened: not a .p12 file, or CertificateKey is not its password"
            )
        }
    }

    /// BoringSSL exports a key in the format of its kind, not in PKCS #8.
    private static func pem(ofKey der: [UInt8]) -> String {
        let isRSA = (try? _RSA.Signing.PrivateKey(derRepresentation: der)) != nil
        return PEMDocument(type: isRSA ? "RSA PRIVATE KEY" : "EC PRIVATE KEY", derBytes: der).pemString
    }

    /// Topics alternate with sequences of their kinds.
    private static func topics(_ bytes: [UInt8]) -> [String] {
        guard let node = try? DER.parse(bytes), case .constructed(let children) = node.content else { return [] }
        return children.compactMap { try? ASN1UTF8String(derEncoded: $0) }.map {
            String(decoding: $0.bytes, as: UTF8.self)
        }
    }
}
