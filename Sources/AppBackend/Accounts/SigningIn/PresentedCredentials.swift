import Foundation

/// The credentials in an `Authorization` header.
enum PresentedCredentials: Sendable {
    case none
    case password(PasswordLogin)
    case token(AccessToken)
    /// Text in the form of an identity provider's token.
    case foreignToken(String)
    /// Credentials that cannot be valid: malformed, or not a possible name, password or token.
    case unusable

    /// Source: RFC 7617 §2 (Basic), RFC 6750 §2.1 (Bearer); schemes are case-insensitive (RFC 9110 §11.1).
    init(header: String?) {
        guard let header else {
            self = .none
            return
        }
        let parts = header.split(separator: " ", maxSplits: 1)
        let text = parts.count == 2 ? parts[1].trimmingPrefix { $0 == " " } : ""
        switch parts.first?.lowercased() {
        case "basic": self = PasswordLogin(basic: text).map { .password($0) } ?? .unusable
        case "bearer": self = Self.bearer(String(text))
        default: self = .none
        }
    }

    private static func bearer(_ text: String) -> PresentedCredentials {
        if let token = AccessToken(text) { return .token(token) }
        // Our own tokens contain no full stop.
        return text.contains(".") ? .foreignToken(text) : .unusable
    }
}

/// A name and a password.
struct PasswordLogin: Sendable {
    /// The longest Base64 text of a valid name and password.
    private static let maximumText = (64 + 1 + Password.maximumBytes) / 3 * 4 + 4

    let name: UserName
    let password: Password

    /// Creates a login; `nil` for a name or password that cannot be valid.
    init?(name: String, password: String) {
        guard let name = UserName(name), let password = Password(password) else { return nil }
        self.name = name
        self.password = password
    }

    /// The part of a Basic header after the scheme: base64 of `name:password` in UTF-8.
    fileprivate init?(basic text: Substring) {
        guard text.utf8.count <= Self.maximumText, let data = Data(base64Encoded: String(text)),
            let pair = String(validating: data, as: UTF8.self), let colon = pair.firstIndex(of: ":")
        else { return nil }
        self.init(name: String(pair[..<colon]), password: String(pair[pair.index(after: colon)...]))
    }
}
