import HubProtocol
import NetworkAddresses

/// The contact address that a sender gives to push services.
///
/// Apple refuses every message of a sender whose address has spaces or angle brackets, or a host that is not public.
///
/// Source: RFC 8292 §2.1.
enum VapidSubject {
    /// Bytes.
    private static let maximumLength = 512

    /// - Throws: ``BadCredential`` if a push service would refuse it.
    static func check(_ text: String?) throws(BadCredential) -> String {
        guard let text, let host = host(text), isPlain(text) else {
            throw BadCredential("Subject is not a bare mailto: or https: address, such as mailto:ops@example.org")
        }
        guard case .name(let name)? = HostName(host), !isLocal(name) else {
            throw BadCredential("Subject names a host that push services do not accept: it must be public")
        }
        return text
    }

    private static func host(_ text: String) -> Substring? {
        if text.hasPrefix("mailto:") {
            let address = text.dropFirst(7).prefix { $0 != "?" }
            let parts = address.split(separator: "@", omittingEmptySubsequences: false)
            return parts.count == 2 && !parts[0].isEmpty && !parts[0].contains(",") ? parts[1] : nil
        }
        guard text.hasPrefix("https://") else { return nil }
        let authority = text.dropFirst(8).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        return authority.contains("@") ? nil : authority.prefix { $0 != ":" }
    }

    private static func isPlain(_ text: String) -> Bool {
        text.utf8.count <= maximumLength
            && text.utf8.allSatisfy { 0x21...0x7E ~= $0 && !"<>\"\\".utf8.contains($0) }
    }

    private static func isLocal(_ name: String) -> Bool {
        ["localhost", "local"].contains { name == $0 || name.hasSuffix(".\($0)") }
    }
}
