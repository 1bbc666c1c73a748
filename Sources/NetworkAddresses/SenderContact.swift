/// The contact address that a sender of messages gives to browsers' push services.
///
/// Services refuse every message of a sender whose address has spaces or angle brackets, or a host that is not public.
///
/// Names below `test` and `example` are accepted: applications should not treat them specially (RFC 6761 §6.2 and §6.5),
/// unlike those below `localhost` and `invalid` (§6.3, §6.4).
///
/// Source: RFC 8292 §2.1; RFC 6762 §3 for `local`.
package struct SenderContact: Sendable, Equatable {
    /// The reason why a text is not a usable contact.
    package struct Problem: Error, Equatable {
        /// The end of a sentence that begins with "the contact is".
        package let reason: String
    }

    /// Bytes.
    private static let maximumLength = 512
    /// Top-level names that no public host has.
    private static let localNames = ["localhost", "local", "invalid"]

    /// A `mailto:` or `https:` URI.
    package let uri: String

    /// Reads a `mailto:` or `https:` URI.
    ///
    /// - Throws: ``Problem``.
    package init(uri text: String) throws(Problem) {
        guard let host = Self.host(text), Self.isPlain(text) else {
            throw Problem(reason: "not a bare mailto: or https: address, such as mailto:ops@example.org")
        }
        guard case .name(let name)? = HostName(host), Self.isPublic(name) else {
            throw Problem(reason: "not at a host that push services accept, which must be a public name")
        }
        uri = text
    }

    /// Reads a `mailto:` or `https:` URI, or an e-mail address alone.
    ///
    /// - Throws: ``Problem``.
    package init(_ text: String) throws(Problem) {
        try self.init(uri: text.contains("@") && !text.contains(":") ? "mailto:\(text)" : text)
    }

    private static func host(_ text: String) -> Substring? {
        if text.hasPrefix("mailto:") {
            let address = text.dropFirst(7).prefix { $0 != "?" }
            let parts = address.split(separator: "@", omittingEmptySubsequences: false)
            return parts.count == 2 && !parts[0].isEmpty && !parts[0].contains(",") ? parts[1] : nil
        }
        guard text.hasPrefix("https://"), let parts = URLParts(text), !parts.hasUser else { return nil }
        return HostAndPort(parts.authority).host
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= maximumLength
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"<>\"\\".utf8.contains($0) }
    }

    private static func isPublic(_ name: String) -> Bool {
        name.contains(".") && !localNames.contains { name.hasSuffix(".\($0)") }
    }
}
