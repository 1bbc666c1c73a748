internal import Formats

/// An absolute URL in three parts, as written.
///
/// Nothing is decoded or checked here: each kind of address keeps its own rules in a type of its own.
///
/// Source: RFC 3986 §3.
package struct URLParts: Sendable {
    /// In lower case.
    package let scheme: String
    /// Host and port, and perhaps user information before them.
    package let authority: Substring
    /// Path, query and fragment: empty, or begins with `/`, `?` or `#`.
    package let rest: Substring

    /// Splits a text; `nil` for one without `://`.
    ///
    /// Bytes are examined, not characters: a combining mark after a slash would hide the slash.
    package init?(_ text: some StringProtocol) {
        let text = String(text)[...]
        guard let separator = text.range(ofASCII: "://") else { return nil }
        scheme = text[..<separator.lowerBound].lowercased()
        let after = text[separator.upperBound...]
        authority = after[..<(after.utf8.firstIndex { "/?#".utf8.contains($0) } ?? after.endIndex)]
        rest = after[authority.endIndex...]
    }

    /// The scheme, if it is one of the web's.
    package var webScheme: WebScheme? { WebScheme(rawValue: scheme) }

    /// True with a user name or a password, even an empty one.
    package var hasUser: Bool { authority.utf8.contains(UInt8(ascii: "@")) }

    /// The authority without user information.
    package var server: Substring {
        let bytes = authority.utf8
        return authority[(bytes.lastIndex(of: UInt8(ascii: "@")).map(bytes.index(after:)) ?? bytes.startIndex)...]
    }
}

/// A scheme of the web, which implies a port.
///
/// Source: RFC 9110 §4.2.
package enum WebScheme: String, Sendable {
    case http
    case https

    package var port: Int { self == .http ? 80 : 443 }

    /// Returns an authority without the port, if it is the one that the scheme implies.
    package func withoutPort(_ authority: some StringProtocol) -> String {
        let end = ":\(port)"
        return String(authority.hasSuffix(end) ? authority.dropLast(end.count) : authority[...])
    }
}

/// The host and the port of an authority without user information, as written.
package struct HostAndPort: Sendable {
    /// A name or an address, IPv6 in brackets; the whole text if a bracket is not closed.
    package let host: Substring
    /// The text after the host: empty, or a colon and the port.
    package let end: Substring

    package init(_ text: some StringProtocol) {
        let text = String(text)[...]
        let bytes = text.utf8
        let end =
            bytes.first == UInt8(ascii: "[")
            ? bytes.firstIndex(of: UInt8(ascii: "]")).map(bytes.index(after:)) : bytes.firstIndex(of: UInt8(ascii: ":"))
        host = text[..<(end ?? text.endIndex)]
        self.end = text[host.endIndex...]
    }

    /// The port; `nil` if there is none, or if something else follows the host.
    package var port: Int? { port(from: 1) }

    /// The port; `lowest` is 0 where that has a meaning.
    package func port(from lowest: Int) -> Int? {
        end.hasPrefix(":") ? Self.number(end.dropFirst(), from: lowest) : nil
    }

    /// True if nothing but a port follows the host.
    package var isValid: Bool { end.isEmpty || port != nil }

    /// Reads a port of one to five digits, at most 65535; `nil` for anything else.
    package static func number(_ text: some StringProtocol, from lowest: Int = 1) -> Int? {
        guard text.utf8.count <= 5, text.isDigits, let port = Int(text), (lowest...65_535).contains(port) else {
            return nil
        }
        return port
    }
}
