/// Proves to a host who asks (RFC 8446 §4.4.2), on every connection of a client.
package struct ClientCertificate: Sendable, Equatable {
    /// The certificate, then those that have signed it, in PEM.
    let chain: [UInt8]
    /// The private key in PEM, not encrypted.
    let key: [UInt8]

    package init(chain: String, key: String) {
        self.chain = Array(chain.utf8)
        self.key = Array(key.utf8)
    }
}
