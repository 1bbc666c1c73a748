import Crypto
import Foundation
import HubTestServer
import SwiftASN1
import X509

/// A certificate by which a node identifies itself, signed by its own key.
struct NodeCertificate {
    let path: String
    let keyPath: String

    init(in folder: ScratchFolder, _ name: String) throws {
        (path, keyPath) = (folder.file("\(name).pem"), folder.file("\(name).key"))
        let key = P256.Signing.PrivateKey()
        let name = try DistinguishedName { CommonName(name) }
        let certificate = try Certificate(
            version: .v3,
            serialNumber: Certificate.SerialNumber(),
            publicKey: Certificate.PublicKey(key.publicKey),
            notValidBefore: .now - 3_600,
            notValidAfter: .now + 3_600,
            issuer: name,
            subject: name,
            signatureAlgorithm: .ecdsaWithSHA256,
            extensions: try Certificate.Extensions { try ExtendedKeyUsage([.clientAuth]) },
            issuerPrivateKey: Certificate.PrivateKey(key)
        )
        try certificate.serializeAsPEM().pemString.write(toFile: path, atomically: true, encoding: .utf8)
        try key.pemRepresentation.write(toFile: keyPath, atomically: true, encoding: .utf8)
    }
}
