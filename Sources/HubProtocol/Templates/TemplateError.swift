/// The reason why a template, or one expression of it, was refused.
package struct TemplateError: Error, Equatable, Sendable, CustomStringConvertible {
    /// In Unicode scalars from the start of the text that was parsed.
    package let offset: Int
    package let reason: String

    package init(offset: Int, reason: String) {
        self.offset = offset
        self.reason = reason
    }

    package var description: String { "\(reason), at character \(offset)" }

    /// The same as a reply.
    package var protocolError: ProtocolError { .badRequest("the template is not valid: \(description)") }
}
