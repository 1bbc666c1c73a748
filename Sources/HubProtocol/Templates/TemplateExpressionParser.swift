/// Reads the terms of a template expression, escapes of the surrounding document already resolved.
///
/// Source: protocol §7.2.
struct TemplateExpressionParser {
    /// Longest property name, in characters.
    static let maximumNameLength = MessageProperties.maximumNameLength
    /// Largest count in `$(p, n)`, in UTF-16 units: beyond any message.
    static let maximumLimit = 1_000_000

    /// Maximum number of terms in one expression, joined by `+`.
    static let maximumTerms = 100

    private let scalars: [Unicode.Scalar]
    private var end: Int
    private(set) var position: Int

    /// Reads from `position` on, and ignores everything before it.
    init(_ scalars: [Unicode.Scalar], position: Int = 0) {
        self.scalars = scalars
        self.position = position
        end = scalars.count
    }

    /// Reads the whole text as one expression, braces around it included.
    mutating func parse() throws(TemplateError) -> [TemplateTerm] {
        while end > position, Self.isSpace(scalars[end - 1]) { end -= 1 }
        if current == "{" {
            guard scalars[end - 1] == "}", end - 1 > position else {
                throw TemplateError(offset: end, reason: "an expression that begins with '{' must end with '}'")
            }
            position += 1
            end -= 1
            skipSpace()
        }
        let start = position
        var terms = [try term()]
        skipSpace()
        while position < end {
            guard current == "+" else {
                throw failure("there is text after the expression; join terms with '+'")
            }
            guard terms.count < Self.maximumTerms else {
                throw failure("an expression has more than \(Self.maximumTerms) terms")
            }
            position += 1
            skipSpace()
            terms.append(try term())
            skipSpace()
        }
        let hasNumber = terms.contains {
            if case .property(let property) = $0 { property.use == .number } else { false }
        }
        guard terms.count == 1 || !hasNumber else {
            throw TemplateError(offset: start, reason: "'#(…)' must stand alone, not in a sum")
        }
        return terms
    }

    /// Reads one term that begins at ``position``.
    mutating func term() throws(TemplateError) -> TemplateTerm {
        switch current {
        case "'", "\"": .literal(try quoted())
        case "$", ".", "%", "#": .property(try property())
        default: throw failure("a term is expected: $(…), .(…), %(…), #(…) or a text in quotes")
        }
    }
}

extension TemplateExpressionParser {
    private var current: Unicode.Scalar? { position < end ? scalars[position] : nil }

    private func failure(_ reason: String) -> TemplateError { TemplateError(offset: position, reason: reason) }

    private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar == "\t" || scalar == "\n" || scalar == "\r"
    }

    private mutating func skipSpace() {
        while let scalar = current, Self.isSpace(scalar) { position += 1 }
    }

    private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
        guard current == scalar else { return false }
        position += 1
        return true
    }

    private mutating func quoted() throws(TemplateError) -> String {
        let start = position
        let quote = scalars[start]
        position += 1
        var text = String.UnicodeScalarView()
        while let scalar = current {
            position += 1
            if scalar == quote, !skip(quote) { return String(text) }
            text.append(scalar)
        }
        throw TemplateError(offset: start, reason: "a text in quotes is not closed")
    }

    private mutating func property() throws(TemplateError) -> TemplateTerm.Property {
        let start = position
        let symbol = scalars[start]
        position += 1
        if symbol == "$", startsWithBody() {
            throw TemplateError(offset: start, reason: "'$body' is not supported")
        }
        guard skip("(") else { throw failure("'(' is expected after '\(symbol)'; as text write {'\(symbol)'}") }
        let name = try name()
        let fallback = try fallback()
        let limit = try limit()
        guard skip(")") else { throw failure("')' is expected to close '\(symbol)(\(name)'") }

        let use: TemplateTerm.Use
        switch (symbol, limit) {
        case ("$", _): use = .value(limit: limit)
        case (".", let limit?): use = .shortened(limit: limit)
        case (".", nil):
            throw TemplateError(offset: start, reason: "'.(\(name))' needs a length: .(\(name), 20)")
        case (_, .some):
            throw TemplateError(offset: start, reason: "'\(symbol)(…)' cannot have a length")
        case ("%", nil): use = .percentEncoded
        case (_, nil): use = .number
        }
        return TemplateTerm.Property(use: use, name: name.lowercased(), fallback: fallback)
    }

    private func startsWithBody() -> Bool {
        let word = scalars[position..<end].prefix(4)
        return word.allSatisfy(\.isASCII) && String(String.UnicodeScalarView(word)).lowercased() == "body"
    }

    private mutating func name() throws(TemplateError) -> String {
        skipSpace()
        let start = position
        while let scalar = current, scalar.isPropertyCharacter { position += 1 }
        guard position > start else {
            throw failure("a property name of letters A-Z, digits and '_' is expected")
        }
        guard position - start <= Self.maximumNameLength else {
            throw TemplateError(
                offset: start,
                reason: "a property name is longer than \(Self.maximumNameLength) characters"
            )
        }
        let name = String(String.UnicodeScalarView(scalars[start..<position]))
        skipSpace()
        return name
    }

    /// `:{text}`; a backslash before `}` keeps it in the text.
    private mutating func fallback() throws(TemplateError) -> String? {
        let start = position
        guard skip(":") else { return nil }
        guard skip("{") else { throw failure("a default is written ':{text}'") }
        var text = String.UnicodeScalarView()
        while let scalar = current {
            position += 1
            if scalar == "}" {
                skipSpace()
                return String(text)
            }
            if scalar == "\\", skip("}") {
                text.append("}")
            } else {
                text.append(scalar)
            }
        }
        throw TemplateError(offset: start, reason: "a default ':{' is not closed by '}'")
    }

    private mutating func limit() throws(TemplateError) -> Int? {
        guard skip(",") else { return nil }
        skipSpace()
        var limit = 0
        let start = position
        while let scalar = current, let digit = scalar.decimalDigit {
            position += 1
            limit = limit * 10 + digit
            guard limit <= Self.maximumLimit else {
                throw TemplateError(offset: start, reason: "a length is larger than \(Self.maximumLimit)")
            }
        }
        guard position > start else { throw failure("a length in digits is expected after ','") }
        skipSpace()
        return limit
    }
}

extension Unicode.Scalar {
    /// The value of `0`–`9`, the ASCII ones only.
    fileprivate var decimalDigit: Int? {
        (0x30...0x39).contains(value) ? Int(value - 0x30) : nil
    }
}
