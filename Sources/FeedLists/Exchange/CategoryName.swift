internal import HubProtocol

/// Converts names of folders to categories.
enum CategoryName {
    /// The tag closest to a name; characters that are not allowed in tags become `_`.
    ///
    /// - Returns: `nil` when nothing is left, or when the tag is reserved.
    static func tag(for name: String) -> Tag? {
        let tag = (try? Tag(name)) ?? nearest(name)
        guard let tag, !tag.isServerAssigned, !ReservedTagPrefixes.standard.contains(tag) else { return nil }
        return tag
    }

    private static func nearest(_ name: String) -> Tag? {
        let words = name.unicodeScalars.prefix(Tag.maximumLength).split { (try? Tag(String($0))) == nil }
        return try? Tag(words.map { String($0) }.joined(separator: "_"))
    }

    /// The path of a new list that does not exist yet, with characters that are safe in every file system and shell.
    static func file(for tag: Tag, in directory: String, isTaken: (String) -> Bool) -> String {
        let words = tag.text.lowercased().prefix(60).split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }
        let stem = words.isEmpty ? "category" : words.joined(separator: "-")
        let folder = directory.hasSuffix("/") ? directory : directory + "/"
        let names = (1...).lazy.map { number in "\(folder)\(stem)\(number == 1 ? "" : "-\(number)").yaml" }
        return names.first { !isTaken($0) } ?? "\(folder)\(stem).yaml"
    }
}
