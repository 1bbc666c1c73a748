/// The parts of a multipart body (RFC 2046 §5.1), with the liberties that clients take.
///
/// The last part may lack its closing delimiter, lines may end in a bare line feed, and part headers are in any case.
///
/// Source: protocol §5.4.
struct MultipartBody: Sendable {
    struct Part: Sendable, Equatable {
        /// By name in lower case; the first of two with the same name.
        fileprivate(set) var headers: [String: String] = [:]
        fileprivate(set) var body: [UInt8] = []

        /// The `name` of its `Content-Disposition`.
        var name: String? { headers["content-disposition"].map(MediaType.init)?["name"] }
        var type: MediaType { MediaType(headers["content-type"] ?? "") }
    }

    /// Maximum number of parts; a batch has two.
    static let maximumParts = 8
    /// Longest boundary, in bytes (RFC 2046 allows 70).
    static let maximumBoundaryBytes = 256
    /// Maximum size of a part's headers in bytes.
    private static let maximumHeaderBytes = 8_192

    let parts: [Part]

    /// - Throws: ``ProtocolError`` 400 if there is no boundary or no part, if there are too many parts, or if the
    ///   headers of one have no end.
    init(_ bytes: [UInt8], type: MediaType) throws(ProtocolError) {
        guard type.name.hasPrefix("multipart/") else {
            throw .badRequest(
                "The Content-Type '\(type.name.excerpt)' is not multipart/mixed; a batch is a multipart body of two parts."
            )
        }
        guard let boundary = type["boundary"], boundary.utf8.count <= Self.maximumBoundaryBytes else {
            throw .badRequest(
                "The Content-Type names no boundary of at most \(Self.maximumBoundaryBytes) characters, as in multipart/mixed; boundary=\"x\"."
            )
        }
        var parts: [Part] = []
        for content in Self.contents(of: bytes, between: Array("--\(boundary)".utf8)) {
            guard parts.count < Self.maximumParts else {
                throw .badRequest("The multipart body has more than \(Self.maximumParts) parts.")
            }
            parts.append(try Self.part(content))
        }
        guard !parts.isEmpty else {
            throw .badRequest(
                "No line of the body is the delimiter '--\(boundary.excerpt)' that its Content-Type names."
            )
        }
        self.parts = parts
    }

    private static func part(_ content: ArraySlice<UInt8>) throws(ProtocolError) -> Part {
        var part = Part()
        var lines = Lines(rest: content)
        var lastName: String?
        while let line = lines.next() {
            guard content.startIndex + maximumHeaderBytes >= line.startIndex else {
                throw .badRequest("A part of the multipart body has headers of more than \(maximumHeaderBytes) bytes.")
            }
            guard !line.isEmpty else {
                part.body = Array(lines.rest)
                return part
            }
            let text = String(decoding: line, as: UTF8.self)
            if text.first == " " || text.first == "\t" {
                // A continued header (RFC 2046 §5.1, RFC 822 §3.1.1).
                if let lastName { part.headers[lastName, default: ""] += " " + text.trimmed }
                continue
            }
            guard let colon = text.firstIndex(of: ":") else {
                throw .badRequest(
                    "A part of the multipart body begins with '\(text.excerpt)': its headers, and an empty line after them, are missing."
                )
            }
            let name = text[..<colon].trimmed.lowercased()
            lastName = part.headers[name] == nil ? name : nil
            if let lastName { part.headers[lastName] = String(text[colon...].dropFirst().trimmed) }
        }
        throw .badRequest("A part of the multipart body has no empty line after its headers.")
    }

    /// The parts between delimiters, at most one more than allowed.
    private static func contents(of bytes: [UInt8], between delimiter: [UInt8]) -> [ArraySlice<UInt8>] {
        var contents: [ArraySlice<UInt8>] = []
        /// The beginning of the next part's content; `nil` before the first delimiter.
        var begin: Int?
        var line = 0
        while line < bytes.count, contents.count <= maximumParts {
            let end = bytes[line...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count
            let rest = bytes[line..<end].dropFirst(delimiter.count)
            let isClosing = rest.starts(with: "--".utf8)
            // Anything but white space after the boundary makes the line a part of the content.
            if bytes[line..<end].starts(with: delimiter),
                (isClosing ? rest.dropFirst(2) : rest).allSatisfy({ $0 <= 0x20 })
            {
                if let begin { contents.append(content(bytes[begin..<line])) }
                if isClosing { return contents }
                begin = end
            }
            line = end
        }
        // Without a closing delimiter, white space after the last one is not a part.
        if let begin, !bytes[begin...].allSatisfy({ $0 <= 0x20 }) { contents.append(content(bytes[begin...])) }
        return contents
    }

    /// The line break before a delimiter belongs to the delimiter (RFC 2046 §5.1.1).
    private static func content(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let bytes = bytes.last == 0x0A ? bytes.dropLast() : bytes
        return bytes.last == 0x0D ? bytes.dropLast() : bytes
    }

    /// Lines without their ends.
    private struct Lines {
        var rest: ArraySlice<UInt8>

        mutating func next() -> ArraySlice<UInt8>? {
            guard let end = rest.firstIndex(of: 0x0A) else { return nil }
            let line = rest[..<end]
            rest = rest[end...].dropFirst()
            return line.last == 0x0D ? line.dropLast() : line
        }
    }
}
