import HubProtocol
import NetworkAddresses

/// The endpoint of a browser's subscription, in parts that all parsers read the same way.
///
/// Devices choose these addresses. Ambiguous spellings are refused, and requests go to a URL that is rebuilt from the
/// parts.
///
/// Source: RFC 8030 §8.
struct PushEndpoint: Sendable, Equatable {
    /// The reason why a text is not a usable endpoint.
    struct Problem: Error, Equatable {
        let reason: String
    }

    /// Bytes.
    static let maximumLength = 2_048

    private var scheme: WebScheme
    /// A name in lower case, or an address.
    private(set) var host: HostName
    private(set) var port: Int
    /// Path and query; begins with a slash.
    let path: String

    /// - Throws: ``Problem``, whose reason does not quote the address.
    init(_ text: String) throws(Problem) {
        guard text.utf8.count <= Self.maximumLength else {
            throw Problem(reason: "it is longer than \(Self.maximumLength) bytes")
        }
        guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\\") }) else {
            throw Problem(reason: "it has a space, a backslash or a character that is not ASCII")
        }
        guard let parts = URLParts(text), parts.scheme == "https" else {
            throw Problem(reason: "it does not begin with https://")
        }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw Problem(reason: "it has a fragment") }
        guard !parts.hasUser else { throw Problem(reason: "it has user information") }
        scheme = .https
        (host, port) = try Self.split(parts.authority, scheme)
        path = parts.rest.hasPrefix("/") ? String(parts.rest) : "/" + parts.rest
    }

    private static func split(_ authority: Substring, _ scheme: WebScheme) throws(Problem) -> (HostName, Int) {
        let server = HostAndPort(authority)
        guard let name = HostName(server.host), !server.host.hasSuffix("."), !isNumeric(server.host) else {
            throw Problem(reason: "it has no valid host")
        }
        guard server.isValid, !server.end.hasPrefix(":0") else {
            throw Problem(reason: "its port is not a number from 1 to 65535")
        }
        return (name, server.port ?? scheme.port)
    }

    /// True if the last label of a name is a hexadecimal number: some parsers take such a name for an address.
    private static func isNumeric(_ host: Substring) -> Bool {
        let last = host.split(separator: ".").last ?? ""
        return last.lowercased().hasPrefix("0x") && last.dropFirst(2).allSatisfy(\.isHexDigit)
    }

    var isAtUsualPort: Bool { port == scheme.port }

    /// Scheme, host and port, without the usual port (RFC 6454 §6.1).
    var origin: String { "\(scheme.rawValue)://\(displayHost)" }

    var url: String { origin + path }

    /// The host for messages to people.
    var displayHost: String { host.urlHost + (isAtUsualPort ? "" : ":\(port)") }

    /// Returns the same path at another origin, such as the emulator's.
    func moved(to origin: String) -> PushEndpoint? {
        guard let parts = URLParts(origin), let scheme = parts.webScheme, parts.rest.isEmpty,
            let (host, port) = try? Self.split(parts.authority, scheme)
        else { return nil }
        var moved = self
        (moved.scheme, moved.host, moved.port) = (scheme, host, port)
        return moved
    }
}
