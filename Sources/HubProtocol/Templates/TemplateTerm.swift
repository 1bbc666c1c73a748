import Formats

/// One summand of a template expression.
///
/// Source: protocol §7.2, §7.3.
enum TemplateTerm: Sendable, Hashable {
    case literal(String)
    case property(Property)

    struct Property: Sendable, Hashable {
        let use: Use
        /// In lower case, as it is looked up.
        let name: String
        /// The text that is used if neither the message nor the device has the property.
        let fallback: String?
    }

    enum Use: Sendable, Hashable {
        /// `$(p)`, or `$(p, n)`: the first n UTF-16 units.
        case value(limit: Int?)
        /// `.(p, n)`: shortened to n UTF-16 units, the last three of them dots.
        case shortened(limit: Int)
        /// `%(p)`.
        case percentEncoded
        /// `#(p)`.
        case number
    }

    /// The text of this term; empty when there is nothing to insert.
    func value(_ message: MessageProperties, _ variables: PushVariables) -> String {
        switch self {
        case .literal(let text): text
        case .property(let property): property.value(message, variables)
        }
    }
}

extension [TemplateTerm] {
    /// The names of properties, in lower case.
    var propertyNames: Set<String> {
        Set(compactMap { if case .property(let property) = $0 { property.name } else { nil } })
    }
}

extension TemplateTerm.Property {
    func value(_ message: MessageProperties, _ variables: PushVariables) -> String {
        let found = lookUp(message, variables)
        switch use {
        case .value(nil), .number: return found
        case .value(let limit?): return Clipping.prefix(found, utf16: limit)
        case .shortened(let limit): return Clipping.shortened(found, utf16: limit)
        case .percentEncoded: return PercentEncoding.encode(found)
        }
    }

    /// The message's value comes first, then the device's own (§7.3).
    private func lookUp(_ message: MessageProperties, _ variables: PushVariables) -> String {
        if let value = message.value(lowercased: name) { return value }
        if let value = variables.value(lowercased: name) { return value }
        return fallback ?? ""
    }
}

/// Shortens text by UTF-16 units, the count that the service's own limits use.
enum Clipping {
    /// The first `limit` units, or one less where the last would be half of a surrogate pair.
    static func prefix(_ text: String, utf16 limit: Int) -> String {
        let units = text.utf16
        // A text has at least as many UTF-8 bytes as UTF-16 units, and counting bytes is free.
        guard text.utf8.count > limit,
            let end = units.index(units.startIndex, offsetBy: limit, limitedBy: units.endIndex), end < units.endIndex
        else { return text }
        guard end > units.startIndex, UTF16.isTrailSurrogate(units[end]) else { return String(text[..<end]) }
        return String(text[..<units.index(before: end)])
    }

    /// The text, or as much of it as leaves room for `...` within `limit` units.
    static func shortened(_ text: String, utf16 limit: Int) -> String {
        let dots = "..."
        guard text.utf16.count > limit else { return text }
        guard limit > dots.utf16.count else { return String(dots.prefix(limit)) }
        return prefix(text, utf16: limit - dots.utf16.count) + dots
    }
}
