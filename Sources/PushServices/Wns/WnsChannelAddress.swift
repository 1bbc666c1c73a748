import Formats
import NetworkAddresses

/// Decides whether a channel URI is one of WNS, since requests to it carry the app's access token.
struct WnsChannelAddress: Sendable {
    private static let domain = "notify.windows.com"
    /// Bytes; real ones stay below 1,024.
    private static let maximumLength = 2_048
    private static let loopback = "127.0.0.1"

    /// The origin that replaces WNS; `nil` for the real service.
    let emulation: String?

    /// Returns the URI to send to; `nil` if the handle is not a channel URI of WNS.
    ///
    /// A real one is returned as it is. The emulator's port changes with each start, so the port in a handle is
    /// ignored.
    func address(of handle: String) -> String? {
        guard Self.isPlain(handle), let parts = URLParts(handle) else { return nil }
        guard let emulation else { return Self.isReal(parts) ? handle : nil }
        let server = HostAndPort(parts.authority)
        guard server.host == Self.loopback, server.isValid, parts.webScheme != nil, parts.rest.hasPrefix("/") else {
            return nil
        }
        return emulation + parts.rest
    }

    /// True without characters that two parsers could read differently.
    private static func isPlain(_ text: String) -> Bool {
        (1...maximumLength).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\\@#<>\"^`{|}".utf8.contains($0) }
    }

    private static func isReal(_ parts: URLParts) -> Bool {
        let host = WebScheme.https.withoutPort(parts.authority.lowercased())
        return parts.webScheme == .https && host.hasOnlyLettersAndDigits(or: "-.")
            && !host.hasPrefix(".") && !host.contains("..") && (host == domain || host.hasSuffix(".\(domain)"))
    }
}
