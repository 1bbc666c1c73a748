internal import DomainNames
internal import Formats

/// A URL reference in its five parts, resolved according to RFC 3986 §5.2.
///
/// It is tolerant: spaces and other characters that URLs cannot contain are percent-encoded instead of being refused,
/// and host names are converted to their ASCII form (RFC 5891).
struct URLReference: Sendable, Equatable {
    /// The longest accepted address, in bytes; browsers and servers refuse longer ones.
    static let maximumBytes = 8_192

    private(set) var scheme: String?
    private(set) var authority: String?
    private(set) var path: String
    private(set) var query: String?
    private(set) var fragment: String?

    /// Splits a reference, which may be relative; `nil` when it is longer than ``maximumBytes``.
    init?(_ reference: String) {
        guard reference.utf8.count <= Self.maximumBytes else { return nil }
        let cleaned = Self.cleaned(reference)
        var rest = cleaned[...]
        if let hash = rest.firstIndex(of: "#") {
            fragment = Self.escaped(rest[rest.index(after: hash)...])
            rest = rest[..<hash]
        }
        if let mark = rest.firstIndex(of: "?") {
            query = Self.escaped(rest[rest.index(after: mark)...])
            rest = rest[..<mark]
        }
        if let colon = rest.firstIndex(of: ":"), Self.isScheme(rest[..<colon]) {
            scheme = rest[..<colon].lowercased()
            rest = rest[rest.index(after: colon)...]
        }
        if rest.hasPrefix("//") {
            rest = rest.dropFirst(2)
            let end = rest.firstIndex(of: "/") ?? rest.endIndex
            authority = Self.ascii(rest[..<end])
            rest = rest[end...]
        }
        path = Self.escaped(rest)
    }

    /// True for an absolute `http` or `https` URL that this type would leave unchanged, as it does most.
    static func isPlainWeb(_ text: String) -> Bool {
        var text = text
        return text.withUTF8 { bytes in
            guard bytes.count <= maximumBytes, bytes.starts(with: "http".utf8) else { return false }
            let rest = bytes.dropFirst(bytes.count > 4 && bytes[4] == 0x73 ? 5 : 4)
            guard rest.starts(with: "://".utf8) else { return false }
            let host = rest.dropFirst(3).prefix { $0.isASCIILetter || $0.isASCIIDigit || $0 == 0x2D || $0 == 0x2E }
            guard let next = bytes[host.endIndex...].first ?? (host.isEmpty ? nil : 0x2F) else { return false }
            return next == 0x2F && isHost(host) && bytes[host.endIndex...].allSatisfy(isPlain)
        }
    }

    /// True if two absolute addresses have the same host, with or without `www.`.
    static func sharesHost(_ one: String, _ other: String) -> Bool {
        func origin(_ text: String) -> Substring.UTF8View {
            let text = text.utf8
            guard let colon = text.firstIndex(of: 0x3A) else { return text[...] }
            return text[..<(text[colon...].dropFirst(3).firstIndex(of: 0x2F) ?? text.endIndex)]
        }
        if origin(one).elementsEqual(origin(other)) { return true }
        func host(_ text: String) -> Substring {
            let host = URLReference(text)?.host ?? ""
            return host.hasPrefix("www.") ? host.dropFirst(4) : host[...]
        }
        return host(one) == host(other)
    }

    /// True for an `http` or `https` URL with a host, the only kind that is shown to people.
    var isWeb: Bool {
        guard scheme == "http" || scheme == "https", let authority, let host, Self.isHost(host.utf8),
            port.map({ $0.utf8.count <= 5 && Int($0) ?? .max <= Int(UInt16.max) }) ?? true
        else { return false }
        return !authority.utf8.contains { $0 <= 0x20 || [0x22, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7F].contains($0) }
    }

    /// True for a valid host name or address in ASCII (RFC 1123 §2.1, RFC 3986 §3.2.2).
    ///
    /// A name whose last label is a number is an IPv4 address. `http://http://x.example/` has no host called `http`.
    private static func isHost(_ host: some BidirectionalCollection<UInt8>) -> Bool {
        guard host.first != 0x5B else { return isIPv6(host) }
        guard host.count <= 254 else { return false }
        var (labels, length, value, isNumber, isAddress) = (0, 0, 0, true, true)
        for byte in host.dropLast(host.last == 0x2E ? 1 : 0) {
            if byte == 0x2E {
                guard length > 0 else { return false }
                isAddress = isAddress && isNumber && value <= 255
                (labels, length, value, isNumber) = (labels + 1, 0, 0, true)
                continue
            }
            let isDigit = byte.isASCIIDigit
            guard length < 63, isDigit || byte.isASCIILetter || byte == 0x2D || byte == 0x5F else { return false }
            length += 1
            if !isDigit { isNumber = false } else if value <= 255 { value = value * 10 + Int(byte - 0x30) }
        }
        if isNumber { return isAddress && labels == 3 && length > 0 && value <= 255 }
        return length > 0 && (labels > 0 || !host.elementsEqual("http".utf8) && !host.elementsEqual("https".utf8))
    }

    private static func isIPv6(_ host: some BidirectionalCollection<UInt8>) -> Bool {
        let address = host.dropFirst().dropLast()
        return host.last == 0x5D && 2...45 ~= address.count && address.count { $0 == 0x3A } >= 2
            && address.allSatisfy { 0x30...0x3A ~= $0 || 0x61...0x66 ~= $0 | 0x20 || $0 == 0x2E }
    }

    var host: String? {
        guard var host = authority?[...] else { return nil }
        if let at = host.lastIndex(of: "@") { host = host[host.index(after: at)...] }
        if let colon = host.lastIndex(of: ":"), host[colon...].dropFirst().utf8.allSatisfy(\.isASCIIDigit) {
            host = host[..<colon]
        }
        return host.lowercased()
    }

    private var port: Substring? {
        guard let authority, let colon = authority.lastIndex(of: ":") else { return nil }
        let digits = authority[authority.index(after: colon)...]
        guard digits.isDigits else { return nil }
        return (scheme == "http" && digits == "80") || (scheme == "https" && digits == "443") ? nil : digits
    }

    /// Resolves this reference against an absolute base.
    func resolved(against base: URLReference?) -> URLReference {
        guard scheme == nil, let base else { return self }
        var result = self
        result.scheme = base.scheme
        guard authority == nil else { return result }
        result.authority = base.authority
        if path.isEmpty {
            result.path = base.path
            result.query = query ?? base.query
        } else if path.hasPrefix("/") {
            result.path = Self.withoutDots(path)
        } else {
            let folder = base.path.lastIndex(of: "/").map { base.path[...$0] } ?? "/"
            result.path = Self.withoutDots(folder + path)
        }
        return result
    }

    var text: String {
        var text = scheme.map { $0 + ":" } ?? ""
        if let authority { text += "//" + authority }
        text += path
        if let query { text += "?" + query }
        if let fragment { text += "#" + fragment }
        return text
    }

    /// A text that is equal for addresses that very probably lead to the same page.
    ///
    /// It omits the scheme, `www.`, the default port, sessions and campaigns (``LinkNoise``), a trailing slash and the fragment, except a
    /// fragment that scripts use as a path, `#!` or `#/`.
    var comparable: String {
        var host = self.host ?? ""
        if host.hasPrefix("www.") { host.removeFirst(4) }
        var text = host + (port.map { ":" + $0 } ?? "") + LinkNoise.withoutSession(path)
        while text.hasSuffix("/") { text.removeLast() }
        let kept = (query ?? "").split(separator: "&").filter { !LinkNoise.isNoise($0) }
        if !kept.isEmpty { text += "?" + kept.joined(separator: "&") }
        if let fragment, fragment.hasPrefix("!") || fragment.hasPrefix("/") { text += "#" + fragment }
        return text
    }

    /// An authority with its host in ASCII; unchanged if the host cannot be converted.
    private static func ascii(_ authority: Substring) -> String {
        guard authority.utf8.contains(where: { $0 >= 0x80 }) else { return String(authority) }
        let start = authority.lastIndex(of: "@").map { authority.index(after: $0) } ?? authority.startIndex
        let end = authority[start...].lastIndex(of: ":") ?? authority.endIndex
        guard let host = DomainName.ascii(String(authority[start..<end])) else { return String(authority) }
        return String(authority[..<start] + host + authority[end...])
    }

    private static func isScheme(_ text: Substring) -> Bool {
        text.utf8.first?.isASCIILetter == true && text.hasOnlyLettersAndDigits(or: "+-.")
    }

    /// Removes dot segments from a path (RFC 3986 §5.2.4).
    private static func withoutDots(_ path: some StringProtocol) -> String {
        var kept: [Substring] = []
        let segments = String(path).split(separator: "/", omittingEmptySubsequences: false).dropFirst()
        for (position, segment) in segments.enumerated() {
            let isLast = position == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }

    /// Trims the text, and removes line breaks and tabs (WHATWG URL §4.4).
    private static func cleaned(_ reference: String) -> String {
        let bytes = reference.utf8.drop { $0 <= 0x20 }
        let end = bytes.lastIndex { $0 > 0x20 }.map { bytes.index(after: $0) } ?? bytes.startIndex
        return String(decoding: bytes[..<end].filter { $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }, as: UTF8.self)
    }

    /// Percent-encodes characters that paths, queries and fragments cannot contain (RFC 3987 §3.1).
    private static func escaped(_ text: Substring) -> String {
        PercentEncoding.encode(text, keeping: isPlain)
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x00...0x20, 0x22, 0x3C, 0x3E, 0x5C, 0x5E, 0x60, 0x7B, 0x7C, 0x7D, 0x7F...: false
        default: true
        }
    }
}
