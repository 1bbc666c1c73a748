import Formats
import Foundation
import HubProtocol

/// The parts of a JSON Web Token in compact form, not verified (RFC 7515 §3.1).
struct SignedToken: Sendable {
    /// Longest token, in bytes.
    private static let maximumLength = 8_192

    let header: JSONNode
    let claims: JSONNode
    let signature: [UInt8]
    /// The input of the signature.
    let signed: [UInt8]

    init?(_ text: some StringProtocol) {
        guard text.utf8.count <= Self.maximumLength else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        guard parts.count == 3, let header = Self.object(parts[0]), let claims = Self.object(parts[1]),
            let signature = Base64URL.decode(parts[2]), !signature.isEmpty
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        signed = Array("\(parts[0]).\(parts[1])".utf8)
    }

    private static func object(_ part: String) -> JSONNode? {
        guard let bytes = Base64URL.decode(part), let node = try? JSONReader.read(bytes), node.members != nil else {
            return nil
        }
        return node
    }

    /// Seconds since 1970 of a claim; `nil` unless it is a whole number.
    func time(_ claim: String) -> Int64? { claims[claim]?.integer }

    /// Text of a header parameter or claim that is not empty.
    static func text(_ name: String, in object: JSONNode) -> String? {
        object[name]?.string.flatMap { $0.isEmpty ? nil : $0 }
    }
}
