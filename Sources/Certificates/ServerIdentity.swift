package import Foundation

/// What a server proves its name with.
package struct ServerIdentity: Sendable {
    /// The server's own certificate, then those that lead to an authority, in PEM.
    package let chain: String
    /// In PEM; never log it.
    package let privateKey: String
    package let facts: CertificateFacts
    /// When another one should take its place; `nil` when that is somebody else's business.
    package let renewAt: Date?
}
