import Crypto
package import Foundation
import HostSystem
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

    /// Reads the first certificate of a file.
    ///
    /// - Returns: Its properties, and its text.
    package static func read(_ path: String) throws(CertificateProblem) -> (facts: CertificateFacts, text: String) {
        let text: String
        do throws(HostError) {
            text = try PrivateFile.read(path, limit: PEMText.maximumBytes)
        } catch {
            throw CertificateProblem(error)
        }
        let (certificate, block) = try PEMText.certificates(text, path: path)[0]
        return (CertificateFacts(certificate, encoded: block.derBytes), block.pemString)
    }

    init(_ certificate: Certificate, encoded: [UInt8]) {
        subject = certificate.subject.description
        issuer = certificate.issuer.description
        notBefore = certificate.notValidBefore
        notAfter = certificate.notValidAfter
        fingerprint = SHA256.hash(data: encoded).map { byte in
            let digits = String(byte, radix: 16, uppercase: true)
            return digits.count == 1 ? "0\(digits)" : digits
        }.joined(separator: ":")
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
