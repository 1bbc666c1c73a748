import Foundation

/// Decides whether a channel URI is one of WNS, since requests to it carry the app's access token.
struct WnsChannelAddress: Sendable {
    private static let domain = "notify.windows.com"
    private static let scheme = "https://"
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
        guard Self.isPlain(handle), let parts = URLComponents(string: handle), parts.user == nil,
            parts.password == nil, parts.fragment == nil, let host = parts.host, !host.isEmpty
        else { return nil }
        guard let emulation else { return Self.isReal(handle, parts) ? handle : nil }
        guard host == Self.loopback, ["https", "http"].contains(parts.scheme), parts.percentEncodedPath.hasPrefix("/")
        else { return nil }
        return emulation + parts.percentEncodedPath + (parts.percentEncodedQuery.map { "?\($0)" } ?? "")
    }

    /// True without characters that two parsers could read differently.
    private static func isPlain(_ text: String) -> Bool {
        (1...maximumLength).contains(text.utf8.count)
            && text.utf8.allSatisfy { (0x21...0x7E).contains($0) && !"\\@#<>\"^`{|}".utf8.contains($0) }
    }

    private static func isReal(_ text: String, _ parts: URLComponents) -> Bool {
        guard text.prefix(scheme.count).lowercased() == scheme else { return false }
        let authority = text.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" }.lowercased()
        let host = authority.hasSuffix(":443") ? String(authority.dropLast(4)) : authority
        let isName = host.utf8.allSatisfy { byte in
            (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
        }
        return isName && !host.hasPrefix(".") && !host.contains("..")
            && (host == domain || host.hasSuffix(".\(domain)"))
            && parts.scheme?.lowercased() == "https" && parts.host?.lowercased() == host
            && (parts.port == nil || parts.port == 443)
    }
}
