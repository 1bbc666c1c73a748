internal import Formats
internal import Glibc
internal import HostSystem

/// The keys of a feed that control how it is requested, which are sent to its own origin only.
package struct FeedAccess: Sendable, Hashable {
    package struct Header: Sendable, Hashable {
        package let name: String
        package let value: String
    }

    /// The largest number of headers of one feed, and the largest size of one, in bytes.
    static let maximumHeaders = 32
    static let maximumHeaderBytes = 4_096
    /// The largest file with headers, in bytes.
    private static let maximumFileBytes = 65_536

    /// Headers that are not secret.
    package var headers: [Header] = []
    /// The path of a file with further headers, one `Name: value` a line; it is read for each request.
    package var headersFile: String?
    package var userAgent: String?
    /// True if cookies that a server sets during redirects are sent back until the reply.
    package var keepsCookies = false
    /// The path of a PEM file with the authorities to trust instead of the system's.
    package var authorityFile: String?

    /// Returns all headers.
    ///
    /// - Throws: ``FeedAccessError`` if the file cannot be used; its text contains no header's value.
    package func allHeaders() throws(FeedAccessError) -> [Header] {
        guard let headersFile else { return headers }
        let text: String
        do throws(HostError) {
            text = try PrivateFile.read(headersFile, limit: Self.maximumFileBytes)
        } catch {
            throw FeedAccessError("'headers-file': \(error)")
        }
        var all = headers
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmingBlanks()
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let place = "'headers-file': '\(headersFile)' line \(index + 1)"
            guard let colon = line.firstIndex(of: ":") else {
                throw FeedAccessError("\(place) is not a header such as 'Name: value'")
            }
            let header = Header(
                name: String(line[..<colon].trimmingBlanks()),
                value: String(line[line.index(after: colon)...].trimmingBlanks())
            )
            if let problem = Self.problem(header) { throw FeedAccessError("\(place): \(problem)") }
            if all.contains(where: { $0.name.lowercased() == header.name.lowercased() }) {
                throw FeedAccessError("\(place): the header '\(header.name)' appears twice")
            }
            all.append(header)
        }
        guard all.count <= Self.maximumHeaders else {
            throw FeedAccessError("'headers-file': the feed has more than \(Self.maximumHeaders) headers")
        }
        return all
    }

    /// Returns the path of the authorities.
    ///
    /// - Throws: ``FeedAccessError`` unless it is a regular file: a pipe would stop the thread of all requests.
    package func checkedAuthorityFile() throws(FeedAccessError) -> String? {
        guard let authorityFile else { return nil }
        var facts = stat()
        guard stat(authorityFile, &facts) == 0 else {
            let reason = String(cString: strerror(errno)).lowercased()
            throw FeedAccessError("'authority-file': cannot read '\(authorityFile)': \(reason)")
        }
        guard facts.st_mode & S_IFMT == S_IFREG else {
            throw FeedAccessError("'authority-file': '\(authorityFile)' is not a regular file")
        }
        return authorityFile
    }

    /// Returns the reason why a header cannot be sent; never quotes its value.
    static func problem(_ header: Header) -> String? {
        let name = header.name
        guard !name.isEmpty, name.hasOnlyLettersAndDigits(or: "!#$%&'*+-.^_`|~") else {
            // Not quoted: somebody may have put a secret there.
            return "the text before ':' is not a valid header name"
        }
        let folded = name.lowercased()
        if folded == "user-agent" { return "use the key 'user-agent' instead of the header '\(name)'" }
        if ours.contains(folded) || folded.hasPrefix("if-") || folded.hasPrefix("proxy-") || folded.hasPrefix("sec-") {
            return "the header '\(name)' is set by newswire"
        }
        guard name.utf8.count + header.value.utf8.count <= maximumHeaderBytes else {
            return "the header '\(name)' is longer than \(maximumHeaderBytes) bytes"
        }
        return isText(header.value) ? nil : "the header '\(name)' contains a line break or another control character"
    }

    /// True if a header with this name is likely to hold a secret, which does not belong into a list.
    static func isSecret(_ name: String) -> Bool {
        let folded = name.lowercased()
        return folded == "cookie" || secretParts.contains { folded.firstRange(of: $0) != nil }
    }

    /// True for text of one line without control characters.
    static func isText(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) || $0 == "\t" }
    }

    private static let secretParts = ["authorization", "token", "secret", "password", "api-key", "apikey", "auth-"]

    /// Headers on which the connection, the reading of the reply or politeness depends.
    private static let ours: Set = [
        "host", "connection", "content-length", "content-type", "content-encoding", "transfer-encoding", "te",
        "trailer", "upgrade", "keep-alive", "expect", "accept-encoding", "range", "a-im", "http2-settings", "via",
        "set-cookie", "alt-used",
    ]
}

/// The reason why the files that a feed's keys name cannot be used.
package struct FeedAccessError: Error, Sendable, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
