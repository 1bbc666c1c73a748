/// A language as the properties of a message name it: the `French` of `News_French`.
///
/// Names that differ in case only are one language, since properties are looked up ignoring case.
///
/// Source: protocol §7.2, §10.
package struct LanguageName: Sendable, CustomStringConvertible {
    /// Longest name, in characters: half of a property's.
    package static let maximumLength = 60
    /// Texts that a message has in each language: the beginning of the property's name, before the language.
    package enum Part: String, Sendable, CaseIterable {
        case news = "News_"
        case title = "Title_"
        case link = "Link_"
    }

    package let text: String

    /// - Throws: ``ProtocolError`` for a text that cannot be part of a property's name.
    package init(_ text: String) throws(ProtocolError) {
        guard !text.isEmpty, text.utf8.count <= Self.maximumLength,
            text.unicodeScalars.allSatisfy(\.isPropertyCharacter)
        else {
            throw .badRequest(
                "language '\(text.excerpt)' must be letters, digits and '_', at most \(Self.maximumLength), "
                    + "such as 'French'"
            )
        }
        self.text = text
    }

    /// The property with a message's text in this language.
    package var newsProperty: MessageProperty { MessageProperty(.news, of: text) }

    /// The property with its title.
    package var titleProperty: MessageProperty { MessageProperty(.title, of: text) }

    /// The property with the address of its page, where that is not the message's `link`.
    package var linkProperty: MessageProperty { MessageProperty(.link, of: text) }

    package var description: String { text }
}

extension MessageProperty {
    /// The property of a part in a language, which may be an unknown one.
    package init(_ part: LanguageName.Part, of language: String) { self.init(rawValue: part.rawValue + language) }

    /// The language of the property, if it is that part of a message.
    package func language(of part: LanguageName.Part) -> String? {
        rawValue.hasPrefix(part.rawValue) ? String(rawValue.dropFirst(part.rawValue.count)) : nil
    }

    package var isLocalized: Bool { LanguageName.Part.allCases.contains { language(of: $0) != nil } }
}

extension LanguageName: Hashable {
    package static func == (left: Self, right: Self) -> Bool { left.text.lowercased() == right.text.lowercased() }

    package func hash(into hasher: inout Hasher) { hasher.combine(text.lowercased()) }
}
