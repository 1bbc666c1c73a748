import Formats

/// The text of a rendered template for people.
package enum RenderedText {
    /// Members that state how a message is shown, where it leads or what it replaces, without being content themselves.
    private static let attributes: Set<MessageProperty> = [
        .link, .localizedLink, .category, .image, .urgency, .story, .status, .replaces, .version,
    ]

    /// True if a message put no text at all into the template that it was rendered with.
    ///
    /// Text is every string of the object, at any depth, except ``attributes``. A text that the template renders
    /// without any message, such as a literal, does not count.
    ///
    /// - Parameters:
    ///   - body: A JSON object; other text is not empty, so that somebody sees it.
    ///   - template: The template that it was rendered with, if known.
    /// - Returns: True if there is nothing to show.
    package static func isEmpty(_ body: String, of template: String?) -> Bool {
        guard let texts = texts(of: body) else { return false }
        let said = texts.filter { !$0.value.isEmpty }
        guard !said.isEmpty, let template else { return said.isEmpty }
        guard let blank = (try? Template(parsing: template))?.render(MessageProperties([:])),
            let literals = Self.texts(of: blank)
        else { return false }
        return said.allSatisfy { literals[$0.key] == $0.value }
    }

    /// Returns the texts by their place in the body.
    private static func texts(of body: String) -> [[String]: String]? {
        guard let node = try? JSONReader.read(Array(body.utf8)), case .object = node.content else { return nil }
        var texts: [[String]: String] = [:]
        gather(node, at: [], into: &texts)
        return texts
    }

    /// The reader limits the depth.
    private static func gather(_ node: JSONNode, at path: [String], into texts: inout [[String]: String]) {
        switch node.content {
        case .string(let text): texts[path] = text
        case .array(let elements):
            for (index, element) in elements.enumerated() { gather(element, at: path + ["\(index)"], into: &texts) }
        case .object(let members):
            for member in members where !attributes.contains(MessageProperty(rawValue: member.name)) {
                gather(member.value, at: path + [member.name], into: &texts)
            }
        case .null, .bool, .number: break
        }
    }
}
