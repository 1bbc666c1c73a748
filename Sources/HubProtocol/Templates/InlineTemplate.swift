/// Plain text with inline terms of the template language, as a publisher writes it:
/// `Breaking $(category) News : $(title, 80)`.
///
/// The terms are those of ``TemplateExpression`` (`#(p)` inserts like `$(p)`); quotes, braces and `+` have no meaning
/// here. A `$` directly before a term keeps the term as text: `$$(title)` gives `$(title)`, `$%(x)` gives `%(x)`.
package struct InlineTemplate: Sendable, Hashable, CustomStringConvertible {
    /// Longest text, in Unicode scalars; it comes from a configuration file.
    package static let maximumLength = 4_096

    package let text: String
    private let terms: [TemplateTerm]

    /// - Throws: ``TemplateError`` for a term that is not well-formed.
    package init(parsing text: String) throws(TemplateError) {
        let scalars = Array(text.unicodeScalars)
        guard scalars.count <= Self.maximumLength else {
            throw TemplateError(
                offset: Self.maximumLength,
                reason: "the template is longer than \(Self.maximumLength) characters"
            )
        }
        var terms: [TemplateTerm] = []
        var literal = String.UnicodeScalarView()
        var position = 0
        while position < scalars.count {
            if scalars[position] == "$", Self.opensTerm(scalars, at: position + 1) {
                literal.append(contentsOf: scalars[(position + 1)...(position + 2)])
                position += 3
            } else if Self.opensTerm(scalars, at: position) {
                if !literal.isEmpty { terms.append(.literal(String(literal))) }
                literal = String.UnicodeScalarView()
                var parser = TemplateExpressionParser(scalars, position: position)
                terms.append(try parser.term())
                position = parser.position
            } else {
                literal.append(scalars[position])
                position += 1
            }
        }
        if !literal.isEmpty { terms.append(.literal(String(literal))) }
        self.text = text
        self.terms = terms
    }

    /// Names that it can look up, in lower case.
    package var propertyNames: Set<String> { terms.propertyNames }

    package func render(_ message: MessageProperties) -> String {
        terms.map { $0.value(message, .none) }.joined()
    }

    package var description: String { text }

    private static func opensTerm(_ scalars: [Unicode.Scalar], at position: Int) -> Bool {
        guard position + 1 < scalars.count, scalars[position + 1] == "(" else { return false }
        switch scalars[position] {
        case "$", ".", "%", "#": return true
        default: return false
        }
    }
}
