import HostSystem
import SwiftASN1
import X509

/// Certificates and keys in the text format that all programs use.
enum PEMText {
    /// Maximum size of a file in bytes; a chain of ten RSA certificates takes 20 KB, a system's whole set of
    /// authorities 220 KB.
    private static let maximumBytes = 1 << 20

    /// Reads a file.
    ///
    /// - Throws: ``CertificateProblem``, whose ``CertificateProblem/host`` distinguishes a missing file.
    static func read(_ path: String) throws(CertificateProblem) -> String {
        do throws(HostError) {
            return try PrivateFile.read(path, limit: maximumBytes)
        } catch {
            throw CertificateProblem(error)
        }
    }

    /// Returns all blocks of a text, in order.
    static func blocks(_ text: String, path: String) throws(CertificateProblem) -> [PEMDocument] {
        do {
            return try PEMDocument.parseMultiple(pemString: text)
        } catch {
            throw CertificateProblem(path, "it is not PEM (-----BEGIN …-----)")
        }
    }

    /// Returns the certificates of a text, with their encoding.
    static func certificates(
        _ text: String,
        path: String
    ) throws(CertificateProblem) -> [(certificate: Certificate, block: PEMDocument)] {
        var found: [(Certificate, PEMDocument)] = []
        for block in try blocks(text, path: path) where block.discriminator == Certificate.defaultPEMDiscriminator {
            do {
                found.append((try Certificate(pemDocument: block), block))
            } catch {
                throw CertificateProblem(path, "certificate \(found.count + 1) in it cannot be read")
            }
        }
        guard !found.isEmpty else { throw CertificateProblem(path, "there is no certificate in it") }
        return found
    }

    /// Returns the private key of a text.
    static func key(_ text: String, path: String) throws(CertificateProblem) -> (
        key: Certificate.PrivateKey, pem: String
    ) {
        // `openssl ecparam -genkey` puts a block with the curve's name before the key.
        let keys = try blocks(text, path: path).filter { $0.discriminator.hasSuffix("PRIVATE KEY") }
        guard let block = keys.first else { throw CertificateProblem(path, "there is no private key in it") }
        guard keys.count == 1 else { throw CertificateProblem(path, "there are \(keys.count) private keys in it") }
        guard !block.discriminator.hasPrefix("ENCRYPTED"), !text.contains("Proc-Type: 4,ENCRYPTED") else {
            throw CertificateProblem(path, "the key is encrypted; write it without a passphrase: openssl pkey")
        }
        do {
            return (try Certificate.PrivateKey(pemDocument: block), block.pemString)
        } catch {
            throw CertificateProblem(
                path,
                "the key cannot be read: use RSA, ECDSA (P-256, P-384, P-521) or Ed25519"
            )
        }
    }
}
