/// A text that is an expression of the template language or plain text, depending on its first character.
///
/// The values of headers, expiry and priority are of this kind, and every text inside a template.
///
/// Source: protocol §7.1, §7.2, §7.4.
package struct TemplateExpression: Sendable, Hashable, CustomStringConvertible {
    /// Longest text of one expression, in Unicode scalars.
    package static let maximumLength = 65_536

    package let text: String
    /// Empty for plain text.
    let terms: [TemplateTerm]

    /// - Throws: ``TemplateError`` for a text that begins like an expression and is not a valid one.
    package init(parsing text: String) throws(TemplateError) {
        self.text = text
        guard let first = text.unicodeScalars.first, Self.opens(first) else {
            terms = []
            return
        }
        guard text.utf8.count <= Self.maximumLength else {
            throw TemplateError(
                offset: Self.maximumLength,
                reason: "an expression is longer than \(Self.maximumLength) characters"
            )
        }
        var parser = TemplateExpressionParser(Array(text.unicodeScalars))
        terms = try parser.parse()
    }

    /// True for plain text, which is rendered unchanged.
    package var isLiteral: Bool { terms.isEmpty }

    /// Names that it can look up, in lower case.
    package var propertyNames: Set<String> { terms.propertyNames }

    /// The text, with no escaping applied; `variables` are the device's own, for properties that the message lacks.
    ///
    /// - Returns: `nil` if the text exceeds the rest of the budget.
    package func render(
        _ message: MessageProperties,
        variables: PushVariables,
        within budget: inout RenderingBudget
    ) -> String? {
        guard !terms.isEmpty else { return text }
        var result = ""
        for term in terms {
            guard budget.spend(RenderingBudget.costOfTerm) else { return nil }
            let value = term.value(message, variables)
            guard result.utf8.count + value.utf8.count <= budget.left else { return nil }
            result += value
        }
        return result
    }

    package var description: String { text }

    package static func == (left: TemplateExpression, right: TemplateExpression) -> Bool { left.text == right.text }

    package func hash(into hasher: inout Hasher) { hasher.combine(text) }

    /// True if a text that begins with this character is an expression.
    static func opens(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "$", "%", ".", "#", "{": true
        default: false
        }
    }

    /// True for one `#(p)` and nothing else, which JSON templates write without quotes.
    var isNumber: Bool {
        if terms.count == 1, case .property(let property) = terms[0], property.use == .number { true } else { false }
    }
}
