import CCurl
import DomainNames
import Formats
import NetworkAddresses

/// An absolute URL, parsed by libcurl's own parser.
///
/// The same parser is used for the check and for the connection: two parsers that read one text differently would let a
/// URL bypass the check.
struct WebAddress: Sendable, Equatable {
    /// Normalised, without user information and fragment.
    private(set) var text: String
    let scheme: String

    /// In lower case and ASCII; IPv6 in brackets.
    let host: String
    let port: Int
    private(set) var user: String?
    private(set) var password: String?
    /// Scheme, host and port; the port is always written.
    let origin: String

    /// True if a path can be appended to a URL as it is: it has only letters, digits, `-`, `_`, `/` and `:`.
    static func isPlain(_ path: String) -> Bool {
        path.utf8.count <= maximumPath && path.hasOnlyLettersAndDigits(or: plainMarks)
    }

    /// Returns a URL of the same origin whose path has only letters, digits, `-`, `_` and `:`; `nil` for any other.
    func sibling(_ text: String) -> WebAddress? {
        guard user == nil, password == nil, text.utf8.count <= Self.maximumLength else { return nil }
        // Normalised, it has a slash after the host.
        let start = self.text.utf8.count(upToSlash: 3)
        guard text.utf8.count > start, text.utf8.starts(with: self.text.utf8.prefix(start)),
            Substring(text.utf8.dropFirst(start)).hasOnlyLettersAndDigits(or: Self.plainMarks)
        else { return nil }
        var sibling = self
        sibling.text = text
        return sibling
    }

    /// Resolves the target of a redirect, without its user information: a server does not choose our credentials.
    func resolving(_ location: String) throws(OutboundError) -> WebAddress {
        try WebAddress(FeedScheme.webAddress(location), relativeTo: self).with(user: nil, password: nil)
    }

    func with(user: String?, password: String?) -> WebAddress {
        var address = self
        (address.user, address.password) = (user, password)
        return address
    }

    /// The host for messages to people, with the port if it is not the scheme's default.
    var displayHost: String {
        port == WebScheme(rawValue: scheme)?.port ? host : "\(host):\(port)"
    }

    /// The host without the brackets of IPv6 and without a dot at the end of a name.
    var bareHost: String {
        let host = self.host.hasPrefix("[") ? self.host.dropFirst().dropLast() : self.host[...]
        return String(host.hasSuffix(".") ? host.dropLast() : host)
    }

    var isLoopback: Bool {
        host == "localhost" || host.hasSuffix(".localhost") || host == "[::1]"
            || (host.hasPrefix("127.") && NetworkAddress(host) != nil)
    }

    /// True if credentials for this URL may be sent to another: the origin is the same, or only the scheme changes from
    /// `http` to `https` at the default ports.
    func sharesCredentials(with other: WebAddress) -> Bool {
        origin == other.origin
            || (host == other.host && (scheme, port) == ("http", WebScheme.http.port)
                && (other.scheme, other.port) == ("https", WebScheme.https.port))
    }

    /// Returns the text with user information, for storing instead of the configured URL.
    func textWithCredentials() -> String {
        guard user != nil || password != nil, let handle = curl_url() else { return text }
        defer { curl_url_cleanup(handle) }
        let flags = UInt32(CURLU_URLENCODE)
        guard curl_url_set(handle, CURLUPART_URL, text, flags) == CURLUE_OK,
            curl_url_set(handle, CURLUPART_USER, user ?? "", flags) == CURLUE_OK,
            password == nil || curl_url_set(handle, CURLUPART_PASSWORD, password, flags) == CURLUE_OK
        else { return text }
        return Self.part(CURLUPART_URL, of: handle) ?? text
    }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer, flags: Int32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }

    private static func reason(_ code: CURLUcode, isAbsolute: Bool) -> String {
        switch code {
        case CURLUE_BAD_SCHEME where isAbsolute: "it does not begin with http:// or https://"
        case CURLUE_MALFORMED_INPUT: "malformed"
        default: String(cString: curl_url_strerror(code)).lowercased()
        }
    }

    /// Characters that a path can have besides letters and digits.
    private static let plainMarks = "-_/:"
    /// Longest path that can be appended to a URL, in bytes.
    private static let maximumPath = 1_024
    /// Bytes that common servers accept in a request line.
    private static let maximumLength = 8_192
}

// MARK: - Parsing

extension WebAddress {
    /// - Throws: ``OutboundError/badURL(reason:)``, whose reason does not quote parts that may be secret.
    init(parsing text: String) throws(OutboundError) {
        try self.init(FeedScheme.webAddress(text), relativeTo: nil)
    }

    private init(_ text: String, relativeTo base: WebAddress?) throws(OutboundError) {
        guard text.utf8.count <= Self.maximumLength else {
            throw .badURL(reason: "longer than \(Self.maximumLength) bytes")
        }
        guard !text.utf8.contains(0), let handle = curl_url() else { throw .badURL(reason: "not an address") }
        defer { curl_url_cleanup(handle) }
        if let base, curl_url_set(handle, CURLUPART_URL, base.text, 0) != CURLUE_OK {
            throw .badURL(reason: "not an address")
        }
        let code = curl_url_set(
            handle,
            CURLUPART_URL,
            text,
            UInt32(CURLU_URLENCODE | CURLU_NON_SUPPORT_SCHEME)
        )
        guard code == CURLUE_OK else {
            throw .badURL(reason: Self.reason(code, isAbsolute: base == nil))
        }
        let scheme = Self.part(CURLUPART_SCHEME, of: handle)?.lowercased() ?? ""
        guard scheme == "http" || scheme == "https" else {
            throw .badURL(reason: "the scheme '\(scheme.prefix(20))' is not http or https")
        }
        // libcurl would convert the name when it connects, after every check, and only in a UTF-8 locale.
        if let host = Self.part(CURLUPART_HOST, of: handle), host.utf8.contains(where: { $0 >= 0x80 }) {
            guard let name = DomainName.ascii(host), curl_url_set(handle, CURLUPART_HOST, name, 0) == CURLUE_OK,
                let translated = Self.part(CURLUPART_URL, of: handle)
            else { throw .badURL(reason: "its host is not an international domain name") }
            // Parsed again, since the result may be a numeric address.
            try self.init(translated, relativeTo: nil)
            return
        }
        let user = Self.part(CURLUPART_USER, of: handle, flags: CURLU_URLDECODE)
        let password = Self.part(CURLUPART_PASSWORD, of: handle, flags: CURLU_URLDECODE)
        for part in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_FRAGMENT] {
            curl_url_set(handle, part, nil, 0)
        }
        guard let host = Self.part(CURLUPART_HOST, of: handle), !host.isEmpty,
            let port = Self.part(CURLUPART_PORT, of: handle, flags: CURLU_DEFAULT_PORT).flatMap({ Int($0) }),
            (1...65_535).contains(port),
            let normal = Self.part(CURLUPART_URL, of: handle, flags: CURLU_NO_DEFAULT_PORT)
        else { throw .badURL(reason: "it has no host") }
        let name = host.lowercased()
        self.init(
            text: normal,
            scheme: scheme,
            host: name,
            port: port,
            user: user,
            password: password,
            origin: "\(scheme)://\(name):\(port)"
        )
    }
}

extension String.UTF8View {
    /// Number of bytes up to and including the slash of that number.
    fileprivate func count(upToSlash number: Int) -> Int {
        var slashes = 0
        var count = 0
        for byte in self {
            count += 1
            if byte == UInt8(ascii: "/") { slashes += 1 }
            if slashes == number { break }
        }
        return count
    }
}

/// Returns a URL for logs and messages, without user information, query and fragment, each of which may be secret.
package func redactedURL(_ text: String) -> String {
    guard let address = try? WebAddress(parsing: text) else { return "(unreadable address)" }
    let bare = address.text.prefix { $0 != "?" }
    return bare.count == address.text.count ? address.text : bare + "?…"
}
