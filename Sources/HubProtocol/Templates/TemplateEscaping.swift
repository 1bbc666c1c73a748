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
        // JSON that begins with a digit is a number; space after it is refused here.
        guard text.utf8.first?.isASCIIDigit == true, text.utf8.last?.isASCIIDigit == true else { return false }
        return (try? JSONReader.read(Array(text.utf8))) != nil
    }
}
