package import Foundation

/// The certificate and key by which a server proves its name.
package struct ServerIdentity: Sendable {
    /// The server's own certificate, then those that lead to an authority, in PEM.
    package let chain: String
    /// The key in PEM; never log it.
    package let privateKey: String
    package let facts: CertificateFacts
    /// The time to replace it; `nil` if another program replaces it.
    package let renewAt: Date?
    /// Certificates that were replaced because a clock was ahead when they were made; usually empty.
    package var corrections: [Correction] = []

    /// A certificate that was not valid yet, and was replaced by one that is.
    package enum Correction: Sendable, Equatable {
        /// Clients that trust the authority accept the new one.
        case server(validFrom: Date)
        /// It has the same key and name. Clients that trust the former file must be given the new one.
        case authority(validFrom: Date)
    }
}
