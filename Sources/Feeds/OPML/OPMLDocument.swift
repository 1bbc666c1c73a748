internal import Formats

/// A list of feeds in the exchange format of feed readers.
///
/// Source: opml.org/spec2.opml.
package struct OPMLDocument: Sendable, Equatable {
    package var title: String?
    package var outlines: [OPMLOutline]
    /// The reason why the document is not well-formed; it was read as far as possible.
    package var malformed: String?
    /// False when the document was truncated, or a limit was reached before its end.
    package var isComplete = true

    package init(title: String?, outlines: [OPMLOutline]) {
        self.title = title
        self.outlines = outlines
    }
}

/// A feed, or a folder of feeds.
package struct OPMLOutline: Sendable, Equatable {
    package struct Attribute: Sendable, Equatable {
        package let name: OPMLName
        package let value: String

        package init(_ name: OPMLName, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    package var attributes: [Attribute]
    package var children: [OPMLOutline]
    /// The line in the document, from 1, if known.
    package var line: Int?

    package init(_ attributes: [Attribute] = [], children: [OPMLOutline] = []) {
        self.attributes = attributes
        self.children = children
    }

    package subscript(_ name: OPMLName) -> String? { attributes.first { $0.name == name }?.value }

    /// The display name: `title`, or else `text`, as plain text; `nil` when that is only the feed's address.
    package var title: String? {
        [self[.title], self[.text]].lazy.compactMap(\.self).filter { $0 != self[.xmlURL] && $0 != self[.url] }
            .compactMap { FeedText.name($0) }.first
    }

    /// The address of the feed, without white space, `feed:` and doubly escaped ampersands, which feed readers add.
    ///
    /// `nil` for folders, notes, links to pages, inclusions, and outlines with an ``unsupportedType``.
    package var feedAddress: String? {
        guard unsupportedType == nil else { return nil }
        let isReference = ["link", "include"].contains(self[.type]?.lowercased())
        guard let given = FeedText.trimmed(self[.xmlURL]) ?? (isReference ? nil : FeedText.trimmed(self[.url])) else {
            return nil
        }
        return FeedText.trimmed(FeedScheme.webAddress(given.replacing("&amp;", with: "&")))
    }
}

extension OPMLOutline {
    /// The type of an outline whose address is not a feed, but a page or data to create entries from.
    ///
    /// Source: freshrss.github.io/FreshRSS/en/developers/OPML.html.
    package var unsupportedType: String? {
        guard let type = self[.type], let plus = type.firstIndex(of: "+") else { return nil }
        let language = type[type.index(after: plus)...].lowercased()
        return ["xpath", "dotpath", "dotnotation"].contains { language.hasPrefix($0) || language.hasSuffix($0) }
            ? type : nil
    }
}

/// The name of an attribute; OPML's own attributes have no namespace.
package struct OPMLName: Sendable, Hashable, CustomStringConvertible {
    /// The longest name with its namespace, in bytes.
    private static let maximumBytes = 300

    /// The namespace of namespace declarations, which are not attributes.
    private static let reserved = "http://www.w3.org/2000/xmlns/"

    package let namespace: String?
    package let local: String

    package init(_ local: String, in namespace: String? = nil) {
        self.namespace = namespace
        self.local = local
    }

    /// - Parameter text: A name in the form of ``description``; the result is `nil` when an attribute cannot have
    ///   this name.
    package init?(parsing text: String) {
        guard text.utf8.count <= Self.maximumBytes else { return nil }
        var local = text[...]
        var namespace: Substring?
        if text.hasPrefix("{") {
            guard let end = text.firstIndex(of: "}"), end > text.index(after: text.startIndex) else { return nil }
            namespace = text[text.index(after: text.startIndex)..<end]
            local = text[text.index(after: end)...]
            guard namespace?.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0.value < 0x7F }) == true else {
                return nil
            }
        }
        guard Self.isName(local), namespace.map({ !$0.hasPrefix(Self.reserved) }) ?? !local.hasPrefix("xmlns") else {
            return nil
        }
        self.init(String(local), in: namespace.map(String.init))
    }

    /// The name as `name` or `{namespace}name`.
    package var description: String { namespace.map { "{\($0)}\(local)" } ?? local }

    /// True for an XML name without a colon, in ASCII only, as all names in use are.
    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.utf8.first, 0x61...0x7A ~= first | 0x20 || first == 0x5F else { return false }
        return text.utf8.allSatisfy { 0x61...0x7A ~= $0 | 0x20 || 0x2D...0x2E ~= $0 || 0x30...0x39 ~= $0 || $0 == 0x5F }
    }

    // MARK: Attributes of OPML

    package static let text = OPMLName("text")
    package static let title = OPMLName("title")
    package static let type = OPMLName("type")
    package static let xmlURL = OPMLName("xmlUrl")
    package static let url = OPMLName("url")
    package static let category = OPMLName("category")

    /// The names by lower-case name, spelled as in the specification.
    static let standard: [String: String] = Dictionary(
        uniqueKeysWithValues: [
            "text", "title", "type", "xmlUrl", "htmlUrl", "url", "description", "language", "category", "created",
            "version", "isComment", "isBreakpoint",
        ].map { ($0.lowercased(), $0) }
    )
}
