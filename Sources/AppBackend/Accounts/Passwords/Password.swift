import Foundation

/// A password in the form that is hashed: UTF-8 in normalization form C, so that every keyboard gives the same bytes.
///
/// Source: RFC 8265 §4.2 (OpaqueString), RFC 7617 §2.1.
package struct Password: Sendable, CustomStringConvertible {
    /// The shortest new password, in characters.
    ///
    /// Source: NIST SP 800-63B §3.1.1.2.
    package static let minimumLength = 8
    /// The longest password, in bytes; longer ones cost time and add no security.
    package static let maximumBytes = 1_024

    let bytes: [UInt8]

    /// Creates a password from a client's input; `nil` for text that cannot be a password.
    package init?(_ text: String) {
        guard (try? Self.check(text)) != nil else { return nil }
        bytes = Array(text.precomposedStringWithCanonicalMapping.utf8)
    }

    /// Creates a password for an account.
    package init(new text: String) throws(PasswordProblem) {
        try Self.check(text)
        guard text.count >= Self.minimumLength else { throw .tooShort }
        bytes = Array(text.precomposedStringWithCanonicalMapping.utf8)
    }

    /// A placeholder, so that the password itself is never printed.
    package var description: String { "(password)" }

    private static func check(_ text: String) throws(PasswordProblem) {
        guard !text.isEmpty else { throw .tooShort }
        guard text.utf8.count <= maximumBytes else { throw .tooLong }
        // Not allowed in Basic credentials (RFC 7617 §2).
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else { throw .control }
    }
}

/// The reasons why text cannot be a password.
package enum PasswordProblem: Error, Equatable, CustomStringConvertible {
    case tooShort
    case tooLong
    case control

    package var description: String {
        switch self {
        case .tooShort: "a password has at least \(Password.minimumLength) characters"
        case .tooLong: "a password has at most \(Password.maximumBytes) bytes"
        case .control: "a password has no control characters or line breaks"
        }
    }
}
