/// A label by which messages find their recipients.
///
/// Two tags are equal when their folded forms are; the text keeps the spelling it came with.
///
/// Source: protocol §3.8, §6.
package struct Tag: TextIdentifier {
    /// Longest tag, and longest id within a server-assigned tag, in Unicode scalars (§3.8).
    package static let maximumLength = 120

    package let text: String
    /// The form that is matched, hashed and checked against reserved prefixes; a sound key for stores and indexes.
    package let folded: String
    /// True for `$InstallationId:{…}` and `$UserId:{…}`, which the hub itself gives to installations (protocol §4.3).
    package let isServerAssigned: Bool

    /// Validates a tag as people and clients write it, either kind of server-assigned tag included.
    ///
    /// - Throws: ``ProtocolError`` 400, naming the tag and the first character that is not allowed.
    package init(_ text: String) throws(ProtocolError) {
        guard !text.isEmpty else { throw .badRequest("a tag is empty") }
        if text.unicodeScalars.first == "$" {
            guard let kind = ServerAssignedTag(text) else {
                throw .badRequest(
                    "tag '\(text.excerpt)' begins with '$' but is neither $InstallationId:{id} nor $UserId:{id}"
                )
            }
            self.init(serverAssigned: kind.text)
            return
        }
        var length = 0
        for scalar in text.unicodeScalars {
            guard scalar.isTagCharacter else {
                throw .badRequest(
                    "tag '\(text.excerpt)' contains \(scalar.named); letters, digits and -_@#.: are allowed"
                )
            }
            length += 1
            guard length <= Self.maximumLength else {
                throw .badRequest("tag '\(text.excerpt)' is longer than \(Self.maximumLength) characters")
            }
        }
        self.init(valid: text)
    }

    package static func installation(_ id: InstallationID) -> Tag {
        Tag(serverAssigned: "$InstallationId:{\(id.text)}")
    }

    /// The installation that `$InstallationId:{…}` names; `nil` for every other tag.
    package var installationID: InstallationID? {
        let name = ServerAssignedTag.names[0]
        // Tags in a hub's replies are trusted, and not checked further.
        guard text.hasPrefix(name) else { return nil }
        return try? InstallationID(String(text.dropFirst(name.count).dropLast()))
    }

    package static func user(_ id: UserID) -> Tag {
        Tag(serverAssigned: "$UserId:{\(id.text)}")
    }

    /// True if the tag begins with `reserved`, by the rule that also decides equality.
    package func hasPrefix(_ reserved: String) -> Bool {
        hasPrefix(folded: TagFolding.fold(reserved))
    }

    /// `prefix` must be folded.
    func hasPrefix(folded prefix: String) -> Bool {
        folded.utf8.starts(with: prefix.utf8)
    }

    /// `text` must have passed the tag alphabet already.
    init(valid text: String) {
        self.text = text
        folded = TagFolding.fold(text)
        isServerAssigned = false
    }

    init(serverAssigned text: String) {
        self.text = text
        folded = TagFolding.fold(text)
        isServerAssigned = true
    }
}

extension Tag: Hashable {
    package static func == (left: Tag, right: Tag) -> Bool { left.folded == right.folded }

    package func hash(into hasher: inout Hasher) { hasher.combine(folded) }
}

/// The grammar of the two kinds of tag that begin with `$`: their names, then an id in braces.
struct ServerAssignedTag {
    /// Every spelling of the names is accepted; the canonical one is stored.
    let text: String

    static let names = ["$InstallationId:{", "$UserId:{"]

    init?(_ tag: String) {
        var scalars = tag.unicodeScalars[...]
        guard let found = Self.open(&scalars), let id = Self.identifier(&scalars), scalars.isEmpty else { return nil }
        text = "\(found)\(id)}"
    }

    /// Consumes the name and the brace.
    static func open(_ scalars: inout Substring.UnicodeScalarView) -> String? {
        for name in names {
            let head = scalars.prefix(name.unicodeScalars.count)
            guard head.allSatisfy(\.isASCII), String(head).lowercased() == name.lowercased() else { continue }
            scalars = scalars.dropFirst(name.unicodeScalars.count)
            return name
        }
        return nil
    }

    /// Consumes 1 to 120 characters of an id and the closing brace.
    static func identifier(_ scalars: inout Substring.UnicodeScalarView) -> String? {
        let id = scalars.prefix(while: \.isIdentifierCharacter)
        guard !id.isEmpty, id.count <= Tag.maximumLength, scalars.dropFirst(id.count).first == "}" else { return nil }
        scalars = scalars.dropFirst(id.count + 1)
        return String(id)
    }
}
