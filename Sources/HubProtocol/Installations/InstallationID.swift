/// The id of an installation.
///
/// Equality follows the folding of tags, because the id becomes one: if `ABC` and `abc` were two installations, a
/// client that registers the second would receive the messages to the first.
package struct InstallationID: TextIdentifier {
    package let text: String
    /// The form that identifies the installation, for use as a key.
    package let folded: String

    /// - Throws: ``ProtocolError`` 400 unless the text is 1 to 120 of letters, digits and `-_@#.:=`.
    package init(_ text: String) throws(ProtocolError) {
        try Identifier.check(text, as: "installationId")
        self.text = text
        folded = TagFolding.fold(text)
    }
}

extension InstallationID: Hashable {
    package static func == (left: InstallationID, right: InstallationID) -> Bool { left.folded == right.folded }

    package func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}

/// The alphabet that installation and user ids share: `[-_@#.:=\w]{1,120}` (protocol §4.2, §6).
enum Identifier {
    static func check(_ text: String, as name: String) throws(ProtocolError) {
        guard !text.isEmpty else { throw .badRequest("\(name) is empty") }
        if let character = text.unicodeScalars.first(where: { !$0.isIdentifierCharacter }) {
            throw .badRequest(
                "\(name) '\(text.excerpt)' contains \(character.named); letters, digits and -_@#.:= are allowed"
            )
        }
        guard text.unicodeScalars.count <= Tag.maximumLength else {
            throw .badRequest("\(name) '\(text.excerpt)' is longer than \(Tag.maximumLength) characters")
        }
    }
}
