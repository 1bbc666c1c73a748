import Foundation

/// Private keys in the forms in which they are passed around.
enum PrivateKeyText {
    /// Returns a key as PEM; the text may also be only the base64 inside, as in management APIs.
    static func pem(_ text: String, kind: String = "PRIVATE KEY") -> String {
        // In a key copied out of JSON, line breaks are two characters.
        let text = text.replacing("\\n", with: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.contains("-----BEGIN") else { return text }
        let base64 = text.filter { !$0.isWhitespace }
        var lines = ["-----BEGIN \(kind)-----"]
        var rest = base64[...]
        while !rest.isEmpty {
            lines.append(String(rest.prefix(64)))
            rest = rest.dropFirst(64)
        }
        return (lines + ["-----END \(kind)-----", ""]).joined(separator: "\n")
    }
}
