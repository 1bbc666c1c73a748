/// Writes OPML 2.0.
package enum OPMLWriter {
    /// Writes a document.
    ///
    /// - Parameters:
    ///   - document: The document; characters that XML does not allow are omitted from its texts.
    ///   - prefixes: Preferred prefixes by namespace; other namespaces get numbered ones.
    /// - Returns: The document without a date, so that equal documents give equal texts.
    package static func text(_ document: OPMLDocument, prefixes: [String: String]) -> String {
        var namespaces = prefixes
        namespaces["http://www.w3.org/XML/1998/namespace"] = "xml"
        collect(document.outlines, into: &namespaces)
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<opml version=\"2.0\""
        for (namespace, prefix) in namespaces.sorted(by: { $0.value < $1.value }) where prefix != "xml" {
            text += " xmlns:\(prefix)=\"\(escaped(namespace))\""
        }
        text += ">\n  <head>\n"
        if let title = document.title { text += "    <title>\(escaped(title))</title>\n" }
        text += "  </head>\n  <body>\n"
        for outline in document.outlines { append(outline, indent: "    ", namespaces, to: &text) }
        return text + "  </body>\n</opml>\n"
    }

    /// Appends outlines; the depth of the recursion is that of the lists: a folder and its feeds.
    private static func append(
        _ outline: OPMLOutline,
        indent: String,
        _ namespaces: [String: String],
        to text: inout String
    ) {
        text += "\(indent)<outline"
        for attribute in outline.attributes {
            let prefix = attribute.name.namespace.flatMap { namespaces[$0] }.map { "\($0):" } ?? ""
            text += " \(prefix)\(attribute.name.local)=\"\(escaped(attribute.value))\""
        }
        guard !outline.children.isEmpty else {
            text += "/>\n"
            return
        }
        text += ">\n"
        for child in outline.children { append(child, indent: indent + "  ", namespaces, to: &text) }
        text += "\(indent)</outline>\n"
    }

    private static func collect(_ outlines: [OPMLOutline], into namespaces: inout [String: String]) {
        for outline in outlines {
            for case let namespace? in outline.attributes.map(\.name.namespace) where namespaces[namespace] == nil {
                namespaces[namespace] = "ns\(namespaces.count)"
            }
            collect(outline.children, into: &namespaces)
        }
    }

    /// Escapes a value; white space other than the space becomes a reference, since XML would read it as a space (XML
    /// §3.3.3).
    private static func escaped(_ text: String) -> String {
        // Text is appended to the string: a view of its scalars would be copied for each reference.
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x22: result += "&quot;"
            case 0x26: result += "&amp;"
            case 0x3C: result += "&lt;"
            case 0x3E: result += "&gt;"
            case 0x09, 0x0A, 0x0D, 0x85, 0x2028: result += "&#\(scalar.value);"
            case _ where !isAllowed(scalar): continue
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// True for a character that XML allows.
    ///
    /// Source: XML 1.0 §2.2, `Char`.
    package static func isAllowed(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x09, 0x0A, 0x0D, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
        default: false
        }
    }
}
