internal import Formats
internal import NetworkAddresses

/// The parts of a connection string's endpoint.
struct Endpoint: Sendable, Equatable {
    static let maximumLength = 512

    /// `sb`, `https` or `http`.
    let scheme: String
    /// In lower case; an IPv6 address without its brackets.
    let host: String
    let port: Int?

    init(_ text: String) throws(ConnectionStringError) {
        func refuse(_ reason: String) -> ConnectionStringError { .badEndpoint(text, reason: reason) }

        guard text.utf8.count <= Self.maximumLength else {
            throw refuse("is longer than \(Self.maximumLength) characters")
        }
        guard let parts = URLParts(text) else { throw refuse("has no scheme; begin it with sb://") }
        scheme = parts.scheme
        guard ["sb", "https", "http"].contains(scheme) else { throw refuse("has a scheme other than sb, https, http") }
        guard ["", "/"].contains(parts.rest) else {
            throw refuse("has a path; a hub is the first path segment, so nothing may come before it")
        }
        guard !parts.hasUser else { throw refuse("contains a user name or password") }

        let server = HostAndPort(parts.authority)
        var name = server.host
        if name.first == "[" {
            guard name.last == "]" else { throw refuse("has a '[' without ']'") }
            name = name.dropFirst().dropLast()
            guard !name.isEmpty, name.utf8.allSatisfy({ Hexadecimal.value($0) != nil || ":.".utf8.contains($0) })
            else { throw refuse("has no valid IPv6 address in its brackets") }
        } else {
            guard !name.isEmpty else { throw refuse("has no host") }
            guard name.hasOnlyLettersAndDigits(or: "-._") else {
                throw refuse("has a host with characters other than letters, digits, '-' and '.'")
            }
        }
        host = name.lowercased()
        guard server.isValid else { throw refuse("has a port that is not a number from 1 to 65535") }
        port = server.port
    }

    var authority: String {
        let name = host.contains(":") ? "[\(host)]" : host
        return port.map { "\(name):\($0)" } ?? name
    }

    /// True if only this machine has the address: `localhost`, `127.0.0.0/8` in four numbers, `::1`.
    var isLoopback: Bool {
        if host == "localhost" || host == "::1" { return true }
        let octets = host.split(separator: ".", omittingEmptySubsequences: false)
        return octets.count == 4 && octets.first == "127"
            && octets.allSatisfy { $0.isDigits && UInt8($0) != nil }
    }
}

extension Character {
    var isASCIIDigit: Bool { self >= "0" && self <= "9" && isASCII }
}

extension StringProtocol {
    /// The text without spaces, tabs and line ends around it.
    var trimmed: SubSequence {
        let isSpace = { (scalar: Unicode.Scalar) in
            scalar == " " || scalar == "\t" || scalar == "\n" || scalar == "\r"
        }
        let scalars = unicodeScalars
        guard let first = scalars.firstIndex(where: { !isSpace($0) }),
            let last = scalars.lastIndex(where: { !isSpace($0) })
        else { return self[endIndex...] }
        return self[first..<scalars.index(after: last)]
    }
}
