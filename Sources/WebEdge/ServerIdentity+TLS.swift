package import Certificates
package import NIOSSL

extension ServerIdentity {
    /// Makes the settings of a server with this certificate, for TLS 1.2 or later.
    ///
    /// - Returns: The settings.
    /// - Throws: If TLS does not accept the certificate or the key.
    package func tlsConfiguration() throws -> TLSConfiguration {
        let certificates = try NIOSSLCertificate.fromPEMBytes(Array(chain.utf8))
        let key = try NIOSSLPrivateKey(bytes: Array(privateKey.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: certificates.map { .certificate($0) },
            privateKey: .privateKey(key)
        )
        configuration.minimumTLSVersion = .tlsv12
        return configuration
    }
}
