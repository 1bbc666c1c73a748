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
        var reader = Reader(bytes: bytes, delimiter: Array("--\(boundary)".utf8))
        while let content = reader.next() {
            guard parts.count < Self.maximumParts else {
                throw .badRequest("The multipart body has more than \(Self.maximumParts) parts.")
            }
            parts.append(try Self.part(bytes[content]))
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

    /// Finds the parts between delimiters.
    private struct Reader {
        let bytes: [UInt8]
        let delimiter: [UInt8]
        /// The beginning of the next part's content; `nil` before the first delimiter.
        private var start: Int?
        private var isAtEnd = false

        init(bytes: [UInt8], delimiter: [UInt8]) {
            self.bytes = bytes
            self.delimiter = delimiter
        }

        mutating func next() -> Range<Int>? {
            if start == nil {
                guard let first = delimiterLine(from: 0) else { return nil }
                move(behind: first)
            }
            guard !isAtEnd, let begin = start else { return nil }
            guard let following = delimiterLine(from: begin) else {
                isAtEnd = true
                // Without a closing delimiter, white space after the last one is not a part.
                return bytes[begin...].allSatisfy { $0 <= 0x20 } ? nil : begin..<contentEnd(bytes.count, from: begin)
            }
            move(behind: following)
            return begin..<contentEnd(following.lowerBound, from: begin)
        }

        private mutating func move(behind line: Range<Int>) {
            let isClosing = bytes[line].dropFirst(delimiter.count).starts(with: "--".utf8)
            isAtEnd = isClosing
            start = line.upperBound
        }

        /// The line break before a delimiter belongs to it.
        private func contentEnd(_ end: Int, from begin: Int) -> Int {
            var end = end
            if end > begin, bytes[end - 1] == 0x0A { end -= 1 }
            if end > begin, bytes[end - 1] == 0x0D { end -= 1 }
            return end
        }

        /// The next line that is a delimiter, with its line break.
        private func delimiterLine(from begin: Int) -> Range<Int>? {
            var line = begin
            while line < bytes.count {
                let end = bytes[line...].firstIndex(of: 0x0A).map { $0 + 1 } ?? bytes.count
                if bytes[line..<end].starts(with: delimiter), isPadding(bytes[line..<end].dropFirst(delimiter.count)) {
                    return line..<end
                }
                line = end
            }
            return nil
        }

        /// True if `rest` may follow the boundary on its line; otherwise the line begins another text.
        private func isPadding(_ rest: ArraySlice<UInt8>) -> Bool {
            let tail = rest.starts(with: "--".utf8) ? rest.dropFirst(2) : rest
            return tail.allSatisfy { $0 <= 0x20 }
        }
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
