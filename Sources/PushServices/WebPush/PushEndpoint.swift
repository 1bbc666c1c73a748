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
    private static let httpsPort = 443

    private let scheme: String
    /// A name in lower case, or an address.
    let host: HostName
    let port: Int
    /// Path and query; begins with a slash.
    let path: String

    private init(scheme: String, host: HostName, port: Int, path: String) {
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
    }

    /// - Throws: ``Problem``, whose reason does not quote the address.
    init(_ text: String) throws(Problem) {
        guard text.utf8.count <= Self.maximumLength else {
            throw Problem(reason: "it is longer than \(Self.maximumLength) bytes")
        }
        guard text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != UInt8(ascii: "\\") }) else {
            throw Problem(reason: "it has a space, a backslash or a character that is not ASCII")
        }
        guard text.prefix(8).lowercased() == "https://" else {
            throw Problem(reason: "it does not begin with https://")
        }
        guard !text.utf8.contains(UInt8(ascii: "#")) else { throw Problem(reason: "it has a fragment") }
        let rest = text.dropFirst(8)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard !authority.contains("@") else { throw Problem(reason: "it has user information") }
        let (host, port) = try Self.split(authority)
        let path = rest[authority.endIndex...]
        self.init(scheme: "https", host: host, port: port, path: path.hasPrefix("/") ? String(path) : "/" + path)
    }

    private static func split(_ authority: Substring) throws(Problem) -> (HostName, Int) {
        let host: Substring
        let after: Substring
        if authority.hasPrefix("[") {
            let end = authority.firstIndex(of: "]").map { authority.index(after: $0) } ?? authority.endIndex
            (host, after) = (authority[..<end], authority[end...])
        } else {
            host = authority.prefix { $0 != ":" }
            after = authority[host.endIndex...]
        }
        guard let name = HostName(host), !host.hasSuffix("."), !isNumeric(host) else {
            throw Problem(reason: "it has no valid host")
        }
        guard !after.isEmpty else { return (name, httpsPort) }
        let digits = after.dropFirst()
        guard after.hasPrefix(":"), !digits.hasPrefix("0"), digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }),
            let port = Int(digits), 1...65_535 ~= port
        else { throw Problem(reason: "its port is not a number from 1 to 65535") }
        return (name, port)
    }

    /// True if the last label of a name is a hexadecimal number: some parsers take such a name for an address.
    private static func isNumeric(_ host: Substring) -> Bool {
        let last = host.split(separator: ".").last ?? ""
        return last.lowercased().hasPrefix("0x") && last.dropFirst(2).allSatisfy(\.isHexDigit)
    }

    var isAtUsualPort: Bool { port == Self.httpsPort }

    /// Scheme, host and port, without the usual port (RFC 6454 §6.1).
    var origin: String { "\(scheme)://\(host.urlHost)" + (isAtUsualPort && scheme == "https" ? "" : ":\(port)") }

    var url: String { origin + path }

    /// The host for messages to people.
    var displayHost: String { host.urlHost + (isAtUsualPort ? "" : ":\(port)") }

    /// Returns the same path at another origin, such as the emulator's.
    func moved(to origin: String) -> PushEndpoint? {
        guard let end = origin.firstRange(of: "://"),
            let (host, port) = try? Self.split(origin[end.upperBound...])
        else { return nil }
        return PushEndpoint(scheme: String(origin[..<end.lowerBound]), host: host, port: port, path: path)
    }
}
