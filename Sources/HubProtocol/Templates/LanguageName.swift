/// A language as the properties of a message name it: the `French` of `News_French`.
///
/// Names that differ in case only are one language, since properties are looked up ignoring case.
///
/// Source: protocol §7.2, §10.
package struct LanguageName: Sendable, CustomStringConvertible {
    /// Longest name, in characters: half of a property's.
    package static let maximumLength = 60
    /// What stands before a language in the name of the property that holds a text in it.
    package static let newsPrefix = "News_"
    package static let titlePrefix = "Title_"
    package static let linkPrefix = "Link_"

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
    package var newsProperty: String { Self.newsPrefix + text }

    /// The property with its title.
    package var titleProperty: String { Self.titlePrefix + text }

    /// The property with the address of its page, where that is not the message's `link`.
    package var linkProperty: String { Self.linkPrefix + text }

    package var description: String { text }
}

extension LanguageName: Hashable {
    package static func == (left: Self, right: Self) -> Bool { left.text.lowercased() == right.text.lowercased() }

    package func hash(into hasher: inout Hasher) { hasher.combine(text.lowercased()) }
}
