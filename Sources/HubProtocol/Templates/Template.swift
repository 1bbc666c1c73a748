/// A body with expressions in it, compiled once and rendered for each message.
///
/// Source: protocol §7.
package struct Template: Sendable, Hashable, CustomStringConvertible {
    /// Largest body, in bytes of UTF-8: the protocol's limit for the request that brings it.
    package static let maximumBytes = 65_536
    /// Maximum number of expressions in one body.
    package static let maximumExpressions = 256
    /// Largest result of ``render(_:variables:)``, in bytes: about fifty times the limit of any push service.
    package static let maximumRenderedBytes = 262_144

    package enum Syntax: Sendable, Hashable {
        case json
        case xml
    }

    /// As it was registered.
    package let body: String
    package let syntax: Syntax
    /// Names that it can look up in the message or in a device's variables, in lower case.
    package let propertyNames: Set<String>
    private let segments: [TemplateSegment]
    /// Number of places for a value.
    private let insertions: Int

    /// Compiles a JSON object or an XML document; the first character that is not a space decides which.
    ///
    /// - Throws: ``TemplateError`` for a body that is neither, or with an expression that does not parse.
    package init(parsing body: String) throws(TemplateError) {
        guard body.utf8.count <= Self.maximumBytes else {
            throw TemplateError(offset: 0, reason: "the body is larger than \(Self.maximumBytes) bytes")
        }
        let bytes = Array(body.utf8)
        let segments: [TemplateSegment]
        switch bytes.first(where: { $0 != 0x20 && $0 != 0x09 && $0 != 0x0A && $0 != 0x0D }) {
        case UInt8(ascii: "{"):
            syntax = .json
            segments = try JSONTemplateCompiler.compile(bytes)
        case UInt8(ascii: "<"):
            syntax = .xml
            segments = try XMLTemplateCompiler.compile(body)
        default:
            throw TemplateError(offset: 0, reason: "the body is neither a JSON object nor an XML document")
        }
        var names: Set<String> = []
        var insertions = 0
        for case .value(let expression, _) in segments {
            names.formUnion(expression.propertyNames)
            insertions += expression.terms.count
        }
        self.insertions = insertions
        self.body = body
        self.segments = segments
        propertyNames = names
    }

    /// The body with every expression replaced by its value; everything else stays byte for byte.
    ///
    /// A property that neither the message nor the device has renders as nothing: it is never an error (protocol §7.3).
    ///
    /// - Returns: `nil` if the budget, which bytes and terms are charged to, is exhausted before the end.
    package func render(
        _ message: MessageProperties,
        variables: PushVariables,
        within budget: inout RenderingBudget
    ) -> String? {
        var output: [UInt8] = []
        output.reserveCapacity(min(body.utf8.count + 512, budget.left))
        for segment in segments {
            let mark = output.count
            switch segment {
            case .literal(let bytes): output.append(contentsOf: bytes)
            case .value(let expression, let escaping):
                guard let value = expression.render(message, variables: variables, within: &budget) else { return nil }
                escaping.append(expression, value, to: &output)
            }
            guard budget.spend(output.count - mark) else { return nil }
        }
        return String(decoding: output, as: UTF8.self)
    }

    /// The same within ``maximumRenderedBytes``.
    package func render(_ message: MessageProperties, variables: PushVariables = .none) -> String? {
        var budget = RenderingBudget(bytes: Self.maximumRenderedBytes)
        return render(message, variables: variables, within: &budget)
    }

    /// The approximate cost of rendering in bytes, without the message's own values: several thousand for a few dozen
    /// expressions.
    package var weight: Int { body.utf8.count + insertions * 256 }

    package var description: String { body }

    package static func == (left: Template, right: Template) -> Bool { left.body == right.body }

    package func hash(into hasher: inout Hasher) { hasher.combine(body) }
}

/// A piece of a compiled template.
enum TemplateSegment: Sendable {
    case literal([UInt8])
    case value(TemplateExpression, TemplateEscaping)
}

/// Gathers the pieces of a template while a compiler walks over its text.
struct TemplateSegmentBuilder {
    private let bytes: [UInt8]
    private(set) var segments: [TemplateSegment] = []
    private var copied = 0
    private var expressions = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Replaces `range` by the value of `text`, the expression there with its escapes resolved.
    ///
    /// `source` returns the byte offset of the n-th scalar of `text`, and is called only if `text` does not parse.
    mutating func add(
        _ text: String,
        replacing range: Range<Int>,
        as escaping: TemplateEscaping,
        source: (Int) -> Int
    ) throws(TemplateError) {
        let expression: TemplateExpression
        do {
            expression = try TemplateExpression(parsing: text)
        } catch {
            throw TemplateError(offset: scalarOffset(ofByte: source(error.offset)), reason: error.reason)
        }
        guard !expression.isLiteral else { return }
        expressions += 1
        guard expressions <= Template.maximumExpressions else {
            throw TemplateError(
                offset: scalarOffset(ofByte: range.lowerBound),
                reason: "the template has more than \(Template.maximumExpressions) expressions"
            )
        }
        segments.append(.literal(Array(bytes[copied..<range.lowerBound])))
        segments.append(.value(expression, escaping))
        copied = range.upperBound
    }

    func finished() -> [TemplateSegment] {
        segments + [.literal(Array(bytes[copied...]))]
    }

    func scalarOffset(ofByte offset: Int) -> Int {
        String(decoding: bytes.prefix(offset), as: UTF8.self).unicodeScalars.count
    }
}
