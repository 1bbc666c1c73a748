internal import Crypto
internal import Formats
internal import NetworkAddresses
internal import OutboundHTTP

/// The address of a feed in its list: absolute, with `http`, `https` or, for the user's own feeds, `file`.
package struct FeedAddress: Hashable, Sendable {
    /// The longest accepted address, in bytes; servers refuse longer ones.
    static let maximumBytes = 2_048

    package let text: String
    /// The server; `nil` for `file`.
    private let site: WebSite?
    /// A text that is equal for spellings of the same address: lower-case scheme and host, no default port, no
    /// fragment.
    package let comparable: String

    package var isFile: Bool { site == nil }

    package var comparableWithoutScheme: Substring { comparable.drop { $0 != ":" } }

    /// The host in lower case and ASCII, without credentials and port; empty for `file`.
    package var host: String { site?.host ?? "" }

    /// The host without the brackets of IPv6 and without a trailing dot.
    var bareHost: String { site?.bareHost ?? "" }

    /// True if the address is that of a site's home page.
    package var isSiteRoot: Bool { comparable.hasSuffix("://\(siteAuthority)/") }

    /// True if credentials for this address may be sent to another one: the origin is the same, or only `http` became
    /// `https`.
    package func sharesCredentials(with other: FeedAddress) -> Bool {
        !isFile && !other.isFile && WebSite.sharesCredentials(of: text, with: other.text)
    }

    /// True for a text that is the address of a document on the web rather than the path of a file.
    package static func isWeb(_ text: String) -> Bool {
        let address = FeedScheme.webAddress(text).lowercased()
        return address.hasPrefix("http://") || address.hasPrefix("https://")
    }

    /// True if both are documents of one server, regardless of the scheme.
    package func sharesSite(with other: FeedAddress) -> Bool {
        isFile == other.isFile && siteAuthority == other.siteAuthority
    }

    /// The host, with the port if it is not the scheme's default; empty for `file`.
    package var siteAuthority: String { site?.authority ?? "" }

    /// Parses an address; `feed:` in front of it is dropped.
    ///
    /// - Parameters:
    ///   - text: The address without surrounding white space.
    ///   - allowsFile: True if the list marked this feed `local: true`.
    /// - Throws: ``FeedAddressError`` with the reason.
    package init(parsing text: String, allowsFile: Bool) throws(FeedAddressError) {
        let text = FeedScheme.webAddress(text)
        guard text.utf8.count <= Self.maximumBytes else {
            throw FeedAddressError("is longer than \(Self.maximumBytes) bytes")
        }
        guard text.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value != 0x7F }) else {
            throw FeedAddressError("contains a space or a control character")
        }
        guard let parts = URLParts(text), !parts.scheme.contains(":") else {
            throw FeedAddressError("is not a URL: it must begin with 'https://' or 'http://'")
        }
        let tail = parts.rest.prefix { $0 != "#" }
        switch parts.scheme {
        case "http", "https":
            try Self.check(HostAndPort(parts.server))
            do {
                site = try WebSite(of: text)
            } catch .badURL(let reason) {
                throw FeedAddressError("cannot be fetched: \(reason)")
            } catch {
                throw FeedAddressError("cannot be fetched")
            }
            comparable = "\(parts.scheme)://\(site?.authority ?? "")\(tail.isEmpty ? "/" : tail)"
        case "file":
            guard allowsFile else { throw FeedAddressError("is a file, which needs 'local: true'") }
            guard ["", "localhost"].contains(parts.authority.lowercased()), tail.hasPrefix("/") else {
                throw FeedAddressError("must name an absolute path: 'file:///…'")
            }
            site = nil
            comparable = "file://\(tail)"
        default:
            throw FeedAddressError("has the scheme '\(parts.scheme)': use 'https' or 'http'")
        }
        self.text = text
    }

    /// The address without credentials, for display to the user who asked.
    ///
    /// Text that is stored in journals and mails uses ``publicText``.
    package var display: String {
        guard let parts = URLParts(text) else { return text }
        return "\(text[..<parts.authority.startIndex])\(parts.server)\(parts.rest)"
    }

    private static func check(_ server: HostAndPort) throws(FeedAddressError) {
        guard !server.host.isEmpty else { throw FeedAddressError("has no host") }
        guard ["", ":"].contains(server.end) || server.port(from: 0) != nil else {
            throw FeedAddressError("has a port that is not a number up to 65535")
        }
    }
}

/// An error in an address, worded as the end of a sentence that begins with the address.
package struct FeedAddressError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}

extension FeedAddress {
    /// The host in text that may not be an address; `nil` if another part, such as part of a password, could be
    /// mistaken for the host.
    package static func apparentHost(of text: String) -> String? {
        guard let parts = URLParts(text), !parts.rest.utf8.contains(UInt8(ascii: "@")) else { return nil }
        let host = HostAndPort(parts.server).host
        let isName = host.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x7A ~= $0 | 0x20 || $0 == 0x2D || $0 == 0x2E }
        return host.isEmpty || !isName ? nil : host.lowercased()
    }

    /// The address for logs and messages, without credentials and query, which may contain keys.
    ///
    /// A hash distinguishes addresses that differ only in those parts.
    package var publicText: String {
        let end = display.firstIndex(of: "?") ?? display.endIndex
        guard end < display.endIndex else { return display }
        return display[..<end] + "?…" + Hexadecimal.encode(SHA256.hash(data: Array(text.utf8)).prefix(4))
    }
}
