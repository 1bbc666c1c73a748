import Formats
package import Foundation
import HostSystem
import SwiftASN1
import X509

/// A certificate and its key in files that another program keeps up to date.
package struct CertificateFiles: Sendable, Equatable {
    /// The server's certificate, then those that lead to an authority, in PEM.
    package let certificate: String
    /// The key in PEM, without a passphrase; may be the same file.
    package let key: String

    package init(certificate: String, key: String) {
        self.certificate = certificate
        self.key = key
    }

    /// Stamps that change when a file changes.
    var stamps: [FileStamp?] { [FileStamp(certificate), FileStamp(key)] }

    /// Reads both, and checks that clients could accept them.
    ///
    /// - Throws: If a file cannot be read, the key does not belong to the certificate, or the certificate is not valid
    ///   now.
    package func identity(at now: Date) throws(CertificateProblem) -> ServerIdentity {
        let chain = try PEMText.certificates(try PEMText.read(certificate), path: certificate)
        let (key, keyText) = try PEMText.key(try PEMText.read(self.key), path: self.key)
        let (own, block) = chain[0]
        guard key.publicKey == own.publicKey else {
            throw CertificateProblem(self.key, "it is not the key of the first certificate in '\(certificate)'")
        }
        let facts = CertificateFacts(own, encoded: block.derBytes)
        guard now < own.notValidAfter else {
            throw CertificateProblem(certificate, "the certificate expired on \(Self.day(own.notValidAfter))")
        }
        guard now >= own.notValidBefore else {
            throw CertificateProblem(certificate, "the certificate is not valid before \(Self.day(own.notValidBefore))")
        }
        guard !facts.names.isEmpty else {
            throw CertificateProblem(
                certificate,
                "the certificate has no subject alternative name, so no client accepts it"
            )
        }
        return ServerIdentity(
            chain: chain.map { $0.block.pemString + "\n" }.joined(),
            privateKey: keyText + "\n",
            facts: facts,
            renewAt: nil
        )
    }

    /// Returns the problem of a file with authorities for a client to trust; `nil` if it can be used.
    package static func authorityProblem(_ path: String) -> CertificateProblem? {
        do throws(CertificateProblem) {
            // One unreadable certificate in a large set does no harm.
            let blocks = try PEMText.blocks(try PEMText.read(path), path: path)
            return blocks.contains { (try? Certificate(pemDocument: $0)) != nil }
                ? nil : CertificateProblem(path, "there is no certificate in it")
        } catch {
            return error
        }
    }

    /// `2026-11-21`.
    private static func day(_ date: Date) -> String { CivilTime(date).dayText }
}
