import Crypto
package import Foundation
package import NetworkAddresses
import SwiftASN1
import X509

/// The authority of one hub: clients that trust it trust the hub's certificates, also renewed ones.
///
/// It may sign servers' certificates and no further authorities. Name constraints do not limit the names that it signs:
/// the names of a hub change, and the authority that clients trust must stay.
package struct CertificateAuthority: Sendable {
    /// Validity of an authority; afterwards clients must be given another one by hand.
    package static let lifetime: TimeInterval = 10 * 365 * day
    /// Longest validity of a server's certificate; common clients accept at most 398 days.
    ///
    /// Source: CA/Browser Forum Ballot SC31; Apple HT211025.
    package static let serverLifetime: TimeInterval = 397 * day
    /// The divisor of a certificate's life that gives the rest at which it is renewed.
    private static let renewalShare = 3.0
    /// Time before the signing from which a certificate is valid, for clients whose clocks are slow.
    private static let backdating: TimeInterval = day
    private static let day: TimeInterval = 86_400
    /// The start of every authority's validity, also of those made by a clock that is ahead.
    ///
    /// No newswire is older, and a clock that shows an earlier time is wrong.
    static let earliest = Date(timeIntervalSince1970: 1_767_225_600)
    /// Maximum number of characters of a common name.
    ///
    /// Source: RFC 5280 appendix A.1, `ub-common-name`.
    private static let maximumCommonName = 64

    private let certificate: Certificate
    private let key: P256.Signing.PrivateKey
    /// The certificate in PEM.
    package let certificateText: String
    package let facts: CertificateFacts

    /// Makes an authority, named after what it is for and a host.
    package init(host: String, of purpose: String = "authority", now: Date) throws {
        let key = P256.Signing.PrivateKey()
        // Distinguishes the hubs of one machine.
        let tag = String(UInt32.random(in: 0x1000_0000 ... .max), radix: 16)
        let name = try DistinguishedName {
            OrganizationName("newswire")
            CommonName(String("newswire \(purpose) \(tag) on \(host)".prefix(Self.maximumCommonName)))
        }
        let identifier = SubjectKeyIdentifier(hash: Certificate.PublicKey(key.publicKey))
        let extensions = try Certificate.Extensions {
            Critical(BasicConstraints.isCertificateAuthority(maxPathLength: 0))
            Critical(KeyUsage(keyCertSign: true, cRLSign: true))
            identifier
            AuthorityKeyIdentifier(keyIdentifier: identifier.keyIdentifier)
        }
        try self.init(key, name, extensions, now: now)
    }

    /// Signs an authority's certificate with its own key.
    private init(
        _ key: P256.Signing.PrivateKey,
        _ name: DistinguishedName,
        _ extensions: Certificate.Extensions,
        now: Date
    ) throws {
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Self.serialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: Self.earliest,
            notValidAfter: max(now, Self.earliest).addingTimeInterval(Self.lifetime),
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: extensions,
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        self.init(certificate, try certificate.serializeAsPEM(), key)
    }

    /// Reads an existing authority.
    package init(certificate text: String, path: String, key: String, keyPath: String) throws(CertificateProblem) {
        let (certificate, block) = try PEMText.certificates(text, path: path)[0]
        let signer: P256.Signing.PrivateKey
        do {
            signer = try P256.Signing.PrivateKey(pemRepresentation: key)
        } catch {
            throw CertificateProblem(keyPath, "it is not the key of an authority that newswire has created")
        }
        guard certificate.publicKey == Certificate.PublicKey(signer.publicKey) else {
            throw CertificateProblem(keyPath, "it is not the key of '\(path)'")
        }
        self.init(certificate, block, signer)
    }

    private init(_ certificate: Certificate, _ block: PEMDocument, _ key: P256.Signing.PrivateKey) {
        self.certificate = certificate
        self.key = key
        certificateText = block.pemString + "\n"
        facts = CertificateFacts(certificate, encoded: block.derBytes)
    }

    /// Returns the same authority, by key and by name, with a certificate that is already valid.
    ///
    /// - Throws: If it is not its own issuer, since only the issuer could sign another one.
    func reissued(at now: Date) throws -> CertificateAuthority {
        guard certificate.issuer == certificate.subject else {
            throw CertificateProblem(facts.subject, "another authority has signed it")
        }
        return try CertificateAuthority(key, certificate.subject, certificate.extensions, now: now)
    }

    /// The key in PEM; never log it.
    package var keyText: String { key.pemRepresentation + "\n" }

    /// The ends of a connection that a certificate is for.
    package enum Usages: Sendable {
        case server
        /// Between programs of the same operator, for as long as the authority is valid: nobody renews it.
        case both
    }

    /// Signs a certificate for a server that is reached by these names.
    package func issue(for names: [HostName], usages: Usages = .server, now: Date) throws -> ServerIdentity {
        let now = max(now, Self.earliest)
        let key = P256.Signing.PrivateKey()
        let publicKey = Certificate.PublicKey(key.publicKey)
        // Some clients refuse a certificate that outlives its authority.
        let usual = now.addingTimeInterval(-Self.backdating + Self.serverLifetime)
        let end = usages == .both ? certificate.notValidAfter : min(usual, certificate.notValidAfter)
        let commonName = String((names.first?.description ?? "newswire hub").prefix(Self.maximumCommonName))
        let issued = try Certificate(
            version: .v3,
            serialNumber: Self.serialNumber(),
            publicKey: publicKey,
            notValidBefore: now.addingTimeInterval(-Self.backdating),
            notValidAfter: end,
            issuer: certificate.subject,
            subject: try DistinguishedName {
                OrganizationName("newswire")
                CommonName(commonName)
            },
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions {
                Critical(BasicConstraints.notCertificateAuthority)
                Critical(KeyUsage(digitalSignature: true))
                try ExtendedKeyUsage(usages == .both ? [.serverAuth, .clientAuth] : [.serverAuth])
                SubjectAlternativeNames(names.map(\.alternativeName))
                SubjectKeyIdentifier(hash: publicKey)
                AuthorityKeyIdentifier(
                    keyIdentifier: try certificate.extensions.subjectKeyIdentifier?.keyIdentifier
                )
            },
            issuerPrivateKey: Certificate.PrivateKey(self.key)
        )
        let block = try issued.serializeAsPEM()
        return identity(issued, block, key: key.pemRepresentation)
    }

    /// Reads a certificate of this authority together with its key; `nil` if another authority signed it, or if its
    /// names differ.
    func identity(_ text: String, path: String, for names: [HostName]) -> ServerIdentity? {
        guard let (issued, block) = try? PEMText.certificates(text, path: path).first,
            let (key, keyText) = try? PEMText.key(text, path: path), key.publicKey == issued.publicKey,
            issued.issuer == certificate.subject,
            certificate.publicKey.isValidSignature(issued.signature, for: issued),
            CertificateFacts(issued, encoded: block.derBytes).names == names.map(\.description)
        else { return nil }
        return identity(issued, block, key: keyText)
    }

    private func identity(_ issued: Certificate, _ block: PEMDocument, key: String) -> ServerIdentity {
        let life = issued.notValidAfter.timeIntervalSince(issued.notValidBefore)
        // Renewal gains nothing if the authority itself expires at that time.
        let isLast = issued.notValidAfter >= certificate.notValidAfter
        return ServerIdentity(
            chain: block.pemString + "\n",
            privateKey: key + "\n",
            facts: CertificateFacts(issued, encoded: block.derBytes),
            renewAt: isLast ? nil : issued.notValidAfter.addingTimeInterval(-life / Self.renewalShare)
        )
    }

    /// Returns a positive number of 16 bytes, 126 of its bits random (RFC 5280 §4.1.2.2 allows 20 bytes).
    private static func serialNumber() -> Certificate.SerialNumber {
        var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
        bytes[0] = bytes[0] & 0x7F | 0x40
        return Certificate.SerialNumber(bytes: bytes)
    }
}

extension HostName {
    fileprivate var alternativeName: GeneralName {
        switch self {
        case .name(let name): .dnsName(name)
        case .address(let address): .ipAddress(ASN1OctetString(contentBytes: address.bytes[...]))
        }
    }
}
