import Formats

/// The escaping of a value at the place of its expression, so that it remains a value there.
///
/// Source: protocol §7.3.
enum TemplateEscaping: Sendable {
    case json
    case xmlText
    /// With the quote that encloses the attribute.
    case xmlAttribute(quote: UInt8)

    func append(_ expression: TemplateExpression, _ value: String, to output: inout [UInt8]) {
        switch self {
        case .json:
            if expression.isNumber, JSONNumber.matches(value) {
                output.append(contentsOf: value.utf8)
            } else {
                JSONText.append(string: value, to: &output)
            }
        case .xmlText: XMLText.append(escaped: value, quote: nil, to: &output)
        case .xmlAttribute(let quote): XMLText.append(escaped: value, quote: quote, to: &output)
        }
    }
}

/// Numbers that `#(p)` may write without quotes: `(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`, so without a sign
/// (protocol §7.3).
enum JSONNumber {
    static func matches(_ text: String) -> Bool {
        var rest = text.utf8[...]
        let whole = digits(&rest)
        guard whole.count == 1 || (whole.count > 1 && whole.first != UInt8(ascii: "0")) else { return false }
        if rest.first == UInt8(ascii: ".") {
            rest = rest.dropFirst()
            guard !digits(&rest).isEmpty else { return false }
        }
        if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
            rest = rest.dropFirst()
            if rest.first == UInt8(ascii: "+") || rest.first == UInt8(ascii: "-") { rest = rest.dropFirst() }
            guard !digits(&rest).isEmpty else { return false }
        }
        return rest.isEmpty
    }

    private static func digits(_ rest: inout Substring.UTF8View) -> Substring.UTF8View {
        let digits = rest.prefix { (0x30...0x39).contains($0) }
        rest = rest.dropFirst(digits.count)
        return digits
    }
}
