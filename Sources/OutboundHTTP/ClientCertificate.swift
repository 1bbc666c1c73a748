/// A certificate that a client presents to hosts that ask for one (RFC 8446 §4.4.2).
package struct ClientCertificate: Sendable, Equatable {
    /// The certificate and the certificates that signed it, in PEM.
    let chain: [UInt8]
    /// The private key in PEM, not encrypted.
    let key: [UInt8]

    package init(chain: String, key: String) {
        self.chain = Array(chain.utf8)
        self.key = Array(key.utf8)
    }
}
