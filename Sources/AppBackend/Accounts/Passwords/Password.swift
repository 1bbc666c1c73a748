import Foundation

/// A password in the form in which it is hashed: UTF-8 in normalization form C, so that it is the same from every keyboard.
///
/// Source: RFC 8265 §4.2 (OpaqueString), RFC 7617 §2.1.
package struct Password: Sendable, CustomStringConvertible {
    /// The fewest characters of a new password.
    ///
    /// Source: NIST SP 800-63B §3.1.1.2.
    package static let minimumLength = 8
    /// Longer ones would only cost time; in bytes.
    package static let maximumBytes = 1_024

    let bytes: [UInt8]

    /// Takes what a client presents; `nil` for what cannot be anybody's password.
    package init?(_ text: String) {
        guard (try? Self.check(text)) != nil else { return nil }
        bytes = Array(text.precomposedStringWithCanonicalMapping.utf8)
    }

    /// Takes a password that is to be set.
    package init(new text: String) throws(PasswordProblem) {
        try Self.check(text)
        guard text.count >= Self.minimumLength else { throw .tooShort }
        bytes = Array(text.precomposedStringWithCanonicalMapping.utf8)
    }

    /// Not the password itself, wherever one is printed.
    package var description: String { "(password)" }

    private static func check(_ text: String) throws(PasswordProblem) {
        guard !text.isEmpty else { throw .tooShort }
        guard text.utf8.count <= maximumBytes else { throw .tooLong }
        // Not allowed in Basic credentials (RFC 7617 §2).
        guard text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control }) else { throw .control }
    }
}

/// Why a text cannot be a password.
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
