/// The id of a user, as an app backend names users on installations.
///
/// Equality follows the folding of tags, because the id becomes one.
package struct UserID: TextIdentifier {
    package let text: String
    package let folded: String

    /// - Throws: ``ProtocolError`` 400 unless the text is 1 to 120 of letters, digits and `-_@#.:=`.
    package init(_ text: String) throws(ProtocolError) {
        try Identifier.check(text, as: "userId")
        self.text = text
        folded = TagFolding.fold(text)
    }
}

extension UserID: Hashable {
    package static func == (left: UserID, right: UserID) -> Bool { left.folded == right.folded }

    package func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}
