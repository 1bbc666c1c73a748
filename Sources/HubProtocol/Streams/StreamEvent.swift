import Formats

/// The data of one message on an agent's stream: `{"id":…,"template":…,"body":{…}}` (protocol §11.2).
package struct StreamEvent: Sendable, Equatable {
    /// Largest event read, in bytes; above what rendering can produce (``Template/maximumRenderedBytes``).
    package static let maximumBytes = 2_097_152

    package let id: MessageID
    /// The name of the template that was rendered; empty for a message of native format.
    package let template: String
    /// A JSON object as text.
    package let body: String

    package init(id: MessageID, template: String, body: String) {
        self.id = id
        self.template = template
        self.body = body
    }

    /// One line: the line ends that a template's own formatting may hold are blanks to JSON, so they become spaces.
    package func encoded() -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.utf8.count + template.utf8.count + id.text.utf8.count + 40)
        JSONText.append(#"{"id":"#, to: &bytes)
        JSONText.append(string: id.text, to: &bytes)
        JSONText.append(#","template":"#, to: &bytes)
        JSONText.append(string: template, to: &bytes)
        JSONText.append(#","body":"#, to: &bytes)
        bytes.append(contentsOf: body.utf8.lazy.map { $0 == 0x0A || $0 == 0x0D ? 0x20 : $0 })
        bytes.append(UInt8(ascii: "}"))
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Throws: ``ProtocolError`` when a member is missing or of another type; unknown members are ignored.
    package init(parsing text: String) throws(ProtocolError) {
        let bytes = Array(text.utf8)
        let members = try JSONDocument.object(bytes, maximumBytes: Self.maximumBytes, called: "the stream event")
        func member(_ name: String) -> JSONNode? { members.first { $0.name == name }?.value }
        guard let id = member("id")?.string, let template = member("template")?.string, let body = member("body"),
            case .object = body.content
        else { throw .badRequest("the stream event lacks a text 'id', a text 'template' or an object 'body'") }
        self.init(
            id: try MessageID(id),
            template: template,
            body: String(decoding: bytes[body.range], as: UTF8.self)
        )
    }
}
