import Markup

/// Finds the expressions of an XML template: every attribute value, text node and CDATA section that begins as one.
///
/// libxml2 decides whether the document is well-formed. This type walks over well-formed markup, and keeps the text's
/// own formatting. Namespace declarations are never expressions.
///
/// Source: protocol §7.1.
struct XMLTemplateCompiler {
    private let bytes: [UInt8]
    private var position = 0
    private var builder: TemplateSegmentBuilder

    static func compile(_ body: String) throws(TemplateError) -> [TemplateSegment] {
        do {
            try XMLWellFormedness.check(XMLDeclaration.withoutEncoding(body))
        } catch {
            let offset = XMLDeclaration.offset(ofLine: error.line, in: body)
            throw TemplateError(
                offset: offset,
                reason: "the body is not well-formed XML: line \(error.line): \(error.reason)"
            )
        }
        var compiler = XMLTemplateCompiler(Array(body.utf8))
        return try compiler.run()
    }

    private init(_ bytes: [UInt8]) {
        self.bytes = bytes
        builder = TemplateSegmentBuilder(bytes)
    }

    private mutating func run() throws(TemplateError) -> [TemplateSegment] {
        while position < bytes.count {
            if bytes[position] != UInt8(ascii: "<") {
                let start = position
                position = bytes[start...].firstIndex(of: UInt8(ascii: "<")) ?? bytes.count
                try add(start..<position, replacing: start..<position, as: .xmlText)
            } else if starts(with: "<!--") {
                _ = try skip(past: "-->")
            } else if starts(with: "<![CDATA[") {
                let start = position
                let content = start + "<![CDATA[".utf8.count
                let end = try skip(past: "]]>")
                try addSection(content..<end, replacing: start..<position)
            } else if starts(with: "<?") {
                _ = try skip(past: "?>")
            } else if starts(with: "</") || starts(with: "<!") {
                _ = try skip(past: ">")
            } else {
                try startTag()
            }
        }
        return builder.finished()
    }
}

extension XMLTemplateCompiler {
    private func starts(with text: String) -> Bool { bytes[position...].starts(with: text.utf8) }

    private func failure() -> TemplateError {
        TemplateError(offset: builder.scalarOffset(ofByte: position), reason: "the body is not well-formed XML")
    }

    /// Moves past the next `text`, and returns the position at which it begins.
    private mutating func skip(past text: String) throws(TemplateError) -> Int {
        let count = text.utf8.count
        for start in position..<bytes.count where bytes[start...].starts(with: text.utf8) {
            position = start + count
            return start
        }
        throw failure()
    }

    private mutating func skip(while condition: (UInt8) -> Bool) {
        while position < bytes.count, condition(bytes[position]) { position += 1 }
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    private static func isNamePart(_ byte: UInt8) -> Bool {
        !isSpace(byte) && byte != UInt8(ascii: "=") && byte != UInt8(ascii: ">") && byte != UInt8(ascii: "/")
    }

    private mutating func startTag() throws(TemplateError) {
        position += 1
        skip(while: Self.isNamePart)
        while true {
            skip { Self.isSpace($0) || $0 == UInt8(ascii: "/") }
            guard position < bytes.count else { throw failure() }
            if bytes[position] == UInt8(ascii: ">") {
                position += 1
                return
            }
            try attribute()
        }
    }

    private mutating func attribute() throws(TemplateError) {
        let nameStart = position
        skip(while: Self.isNamePart)
        let name = bytes[nameStart..<position]
        skip { Self.isSpace($0) || $0 == UInt8(ascii: "=") }
        guard !name.isEmpty, position < bytes.count else { throw failure() }
        let quote = bytes[position]
        guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { throw failure() }
        let start = position + 1
        guard let end = bytes[start...].firstIndex(of: quote) else { throw failure() }
        position = end + 1
        guard !name.elementsEqual("xmlns".utf8), !name.starts(with: "xmlns:".utf8) else { return }
        try add(start..<end, replacing: start..<end, as: .xmlAttribute(quote: quote))
    }

    /// A CDATA section holds its text as it is; an expression in one is replaced by escaped text.
    private mutating func addSection(_ content: Range<Int>, replacing range: Range<Int>) throws(TemplateError) {
        let text = String(decoding: bytes[content], as: UTF8.self)
        try builder.add(text, replacing: range, as: .xmlText) { count in
            content.lowerBound + String(text.unicodeScalars.prefix(count)).utf8.count
        }
    }

    private mutating func add(
        _ content: Range<Int>,
        replacing range: Range<Int>,
        as escaping: TemplateEscaping
    ) throws(TemplateError) {
        guard let first = bytes[content].first,
            first == UInt8(ascii: "&") || TemplateExpression.opens(Unicode.Scalar(first))
        else { return }
        let isAttribute = if case .xmlAttribute = escaping { true } else { false }
        guard let text = XMLReferences.resolve(bytes[content], isAttribute: isAttribute) else { throw failure() }
        try builder.add(text.string, replacing: range, as: escaping) { count in
            count < text.offsets.count ? text.offsets[count] : content.upperBound
        }
    }
}
