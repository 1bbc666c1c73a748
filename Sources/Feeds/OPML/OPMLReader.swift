internal import Markup

/// Reads OPML 1.0 to 2.0 as feed readers write it: names in any case, broken XML, any encoding.
package enum OPMLReader {
    /// The longest attribute value, in bytes; a feed with a longer one is refused.
    package static let maximumValueBytes = 16_384
    /// The largest number of attributes kept of one outline.
    private static let maximumAttributes = 64

    /// Reads a document.
    ///
    /// - Parameters:
    ///   - bytes: The document, at most ``FeedReader/maximumBytes``; gzip is decompressed.
    ///   - contentType: The HTTP header field; only its `charset` is used.
    /// - Returns: The document; a damaged one is read as far as possible.
    /// - Throws: ``OPMLError`` when the document is not OPML.
    package static func read(_ bytes: [UInt8], contentType: String?) throws(OPMLError) -> OPMLDocument {
        let text: [UInt8]
        var fault: String?
        do throws(FeedError) {
            (text, fault) = try FeedReader.text(of: bytes, contentType: contentType)
        } catch {
            throw OPMLError("\(error)")
        }
        let tree = XMLScanner.tree(of: text, vocabulary: vocabulary)
        guard let root = tree.root else {
            throw OPMLError("the document cannot be read: \(tree.fault?.description ?? "it has no element")")
        }
        guard root.localName.lowercased() == "opml" else {
            let name = FeedText.name(root.localName) ?? ""
            throw OPMLError("the document is not OPML: its root is '\(name)'")
        }
        var document = OPMLDocument(title: nil, outlines: [])
        document.title = child(root, "head").flatMap { child($0, "title") }.flatMap { FeedText.name($0.text, .plain) }
        var lines = OutlineLines(text)
        document.outlines = child(root, "body").map { outlines(in: $0, &lines) } ?? []
        if !lines.isAtEnd { document.outlines = document.outlines.map(withoutLines) }
        document.malformed = tree.fault?.description ?? fault
        document.isComplete = tree.isComplete
        return document
    }

    /// Reads outlines; the scanner limits the depth of the recursion.
    private static func outlines(in parent: XMLElement, _ lines: inout OutlineLines) -> [OPMLOutline] {
        var result: [OPMLOutline] = []
        for element in parent.children where element.localName.lowercased() == "outline" {
            var outline = OPMLOutline()
            outline.line = lines.next()
            var names: Set<OPMLName> = []
            for (key, value) in element.attributes.prefix(maximumAttributes) {
                guard let name = OPMLName(parsing: key), names.insert(name).inserted else { continue }
                outline.attributes.append(OPMLOutline.Attribute(name, value))
            }
            outline.children = outlines(in: element, &lines)
            result.append(outline)
        }
        return result
    }

    private static func withoutLines(_ outline: OPMLOutline) -> OPMLOutline {
        var outline = outline
        outline.line = nil
        outline.children = outline.children.map(withoutLines)
        return outline
    }

    private static func child(_ element: XMLElement, _ name: String) -> XMLElement? {
        element.children.first { $0.localName.lowercased() == name }
    }

    /// The vocabulary of OPML; outlines contain outlines, so a start tag never ends another outline.
    private static let vocabulary = XMLVocabulary(
        roots: ["opml"],
        space: { namespace, prefix in namespace ?? prefix ?? "" },
        naming: { space, local in
            guard space.isEmpty else { return OPMLName(local, in: space).description }
            return OPMLName.standard[local.lowercased()] ?? local
        }
    )
}

/// The lines on which a document's `outline` tags begin, in order.
///
/// The scanner does not keep lines, since feeds need none. If the tags found here differ from the scanner's, the
/// document's lines are omitted.
private struct OutlineLines {
    private let text: [UInt8]
    private var position = 0
    private var line = 1

    init(_ text: [UInt8]) { self.text = text }

    var isAtEnd: Bool {
        var rest = self
        return rest.next() == nil
    }

    mutating func next() -> Int? {
        while position < text.count {
            defer { position += 1 }
            if text[position] == 0x0A { line += 1 }
            guard text[position] == 0x3C else { continue }
            let rest = text[(position + 1)...]
            if rest.starts(with: "!--".utf8) {
                skip(past: "-->")
            } else if rest.starts(with: "![CDATA[".utf8) {
                skip(past: "]]>")
            } else if FeedDiscovery.begins(rest, "outline"), rest.dropFirst(7).first.map(Self.endsName) == true {
                return line
            }
        }
        return nil
    }

    private mutating func skip(past end: StaticString) {
        while position < text.count, !text[position...].starts(with: "\(end)".utf8) {
            if text[position] == 0x0A { line += 1 }
            position += 1
        }
    }

    private static func endsName(_ byte: UInt8) -> Bool { byte <= 0x20 || byte == 0x2F || byte == 0x3E }
}

/// The reason why a document is not a list of feeds.
package struct OPMLError: Error, Equatable, Sendable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
