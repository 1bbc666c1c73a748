import Crypto
import Formats
package import Foundation
package import NetworkAddresses
import SwiftASN1
import X509

/// The properties of a certificate that people look at.
package struct CertificateFacts: Sendable, Equatable {
    /// Distinguished names, as RFC 4514 writes them.
    package let subject: String
    package let issuer: String
    /// The names and addresses that it is valid for, in its order.
    package let names: [String]
    package let notBefore: Date
    package let notAfter: Date
    /// SHA-256 of the certificate, as `openssl x509 -fingerprint -sha256` writes it.
    package let fingerprint: String
    /// SHA-256 of the public key (`SubjectPublicKeyInfo`), by which a client knows a server without an authority.
    package let publicKeyHash: [UInt8]

    /// Reads the first certificate of a file.
    ///
    /// - Returns: Its properties, and its text.
    package static func read(_ path: String) throws(CertificateProblem) -> (facts: CertificateFacts, text: String) {
        let (certificate, block) = try PEMText.certificates(try PEMText.read(path), path: path)[0]
        return (CertificateFacts(certificate, encoded: block.derBytes), block.pemString)
    }

    init(_ certificate: Certificate, encoded: [UInt8]) {
        subject = certificate.subject.description
        issuer = certificate.issuer.description
        notBefore = certificate.notValidBefore
        notAfter = certificate.notValidAfter
        fingerprint = SHA256.hash(data: encoded).map { Hexadecimal.encode([$0]).uppercased() }.joined(separator: ":")
        publicKeyHash =
            (try? certificate.publicKey.serializeAsPEM().derBytes).map { Array(SHA256.hash(data: $0)) } ?? []
        let alternatives = (try? certificate.extensions.subjectAlternativeNames) ?? SubjectAlternativeNames()
        names = alternatives.compactMap { alternative in
            switch alternative {
            case .dnsName(let name): name
            case .ipAddress(let octets): NetworkAddress(octets: octets.bytes).map(\.description)
            default: nil
            }
        }
    }

    /// True if a client that calls the server `host` would accept the certificate (RFC 6125 §6.4).
    package func covers(_ host: HostName) -> Bool {
        names.contains { name in
            if HostName(name) == host { return true }
            guard case .name(let wanted) = host, name.hasPrefix("*.") else { return false }
            return wanted.split(separator: ".", maxSplits: 1).last.map { $0 == name.dropFirst(2).lowercased() } ?? false
        }
    }
}
