import Foundation

/// Private keys in the forms in which they are passed around.
enum PrivateKeyText {
    /// Returns a key as PEM; the text may also be only the base64 inside, as in management APIs.
    static func pem(_ text: String) -> String {
        // In a key copied out of JSON, line breaks are two characters.
        let text = text.replacing("\\n", with: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
        guard !text.contains("-----BEGIN"), let key = Data(base64Encoded: text.filter { !$0.isWhitespace }) else {
            return text
        }
        let lines = key.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN PRIVATE KEY-----\n\(lines)\n-----END PRIVATE KEY-----\n"
    }
}
