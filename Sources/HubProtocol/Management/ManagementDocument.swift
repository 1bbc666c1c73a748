import Markup

/// Reads a client's document about a hub or a job: an Atom entry with one description in its content.
///
/// Clients differ in the order of elements, in prefixes and in the spelling of the service's namespace (protocol §2),
/// and may send the description without its entry. A document type declaration is refused, and so is a document that is
/// not well-formed.
enum ManagementDocument {
    static let arraysNamespace = "http://schemas.microsoft.com/2003/10/Serialization/Arrays"

    /// Returns the description with the given name from a request's body.
    ///
    /// - Throws: ``ProtocolError`` 400 with the expected form of the body.
    static func description(named name: String, in body: [UInt8]) throws(ProtocolError) -> XMLElement {
        let root = try root(of: body)
        let found = root.name == "entry" ? root.first("content")?.children.first { _ in true } : root
        guard let found, found.name == name else {
            let instead = found.map { "'\($0.localName.excerpt)'" } ?? "nothing"
            throw .badRequest("The body must be an Atom entry whose content is a '\(name)'; it contains \(instead).")
        }
        return found
    }

    private static func root(of body: [UInt8]) throws(ProtocolError) -> XMLElement {
        guard let text = String(validating: body, as: UTF8.self) else {
            throw .badRequest("The body is not UTF-8.")
        }
        let document = Array(text.unicodeScalars.first == "\u{FEFF}" ? text.utf8.dropFirst(3) : text.utf8[...])
        do throws(XMLSyntaxError) {
            let tree = try XMLScanner.strictTree(of: document, vocabulary: vocabulary)
            if let root = tree.root { return root }
        } catch {
            throw .badRequest("The body is not well-formed XML: \(error).")
        }
        throw .badRequest("The body has no element.")
    }

    /// Returns the titles and descriptions of a reply's entries, for a feed or a single entry.
    static func entries(in reply: [UInt8]) throws(ProtocolError) -> [(title: String, description: XMLElement)] {
        let root = try root(of: reply)
        let entries = root.name == "feed" ? root.all("entry") : [root]
        return entries.compactMap { entry in
            guard let title = entry.first("title")?.value, let content = entry.first("content"),
                let description = content.children.first(where: { _ in true })
            else { return nil }
            return (title, description)
        }
    }

    /// Maps names of the service, of Atom and without a namespace to themselves; attributes of XML Schema begin with
    /// `i:`.
    private static let vocabulary = XMLVocabulary(
        space: { namespace, _ in
            switch namespace {
            case nil, AtomNames.serviceBus, AtomNames.secureServiceBus, AtomNames.atom, arraysNamespace: ""
            case AtomNames.instance: "i"
            default: "other"
            }
        }
    )
}

extension XMLElement {
    /// True if a .NET client marked the element as having no value.
    var isNil: Bool {
        let mark = attribute("i:nil")
        return mark == "true" || mark == "1"
    }

    /// The whole text, as a key or a password needs it; `nil` if there is nothing but white space.
    var untrimmedValue: String? { value == nil ? nil : text }

    /// The text without the white space around it; `nil` if there is none.
    var value: String? {
        let text = String(text.trimmed)
        return isNil || text.isEmpty ? nil : text
    }
}
