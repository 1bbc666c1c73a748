import Formats

/// Finds the expressions of a JSON template: every string value that begins as one, in objects and arrays at any depth.
///
/// Member names are never expressions (protocol §7.1).
enum JSONTemplateCompiler {
    static func compile(_ bytes: [UInt8]) throws(TemplateError) -> [TemplateSegment] {
        var builder = TemplateSegmentBuilder(bytes)
        let root: JSONNode
        do {
            root = try JSONReader.read(bytes)
        } catch {
            throw TemplateError(
                offset: builder.scalarOffset(ofByte: error.offset),
                reason: "the body is not valid JSON: \(error.reason)"
            )
        }
        try visit(root, bytes, &builder)
        return builder.finished()
    }

    private static func visit(
        _ node: JSONNode,
        _ bytes: [UInt8],
        _ builder: inout TemplateSegmentBuilder
    ) throws(TemplateError) {
        switch node.content {
        case .null, .bool, .number: return
        case .string(let text):
            try builder.add(text, replacing: node.range, as: .json) { count in
                byteOffset(ofScalar: count, inStringAt: node.range.lowerBound, bytes)
            }
        case .array(let nodes):
            for node in nodes { try visit(node, bytes, &builder) }
        case .object(let members):
            for member in members { try visit(member.value, bytes, &builder) }
        }
    }

    private static func byteOffset(ofScalar count: Int, inStringAt start: Int, _ bytes: [UInt8]) -> Int {
        var scanner = JSONStringScanner(bytes: bytes, position: start + 1)
        for _ in 0..<count {
            // The string was read once before, so this does not fail.
            guard (try? scanner.next()) != nil else { break }
        }
        return scanner.position
    }
}
