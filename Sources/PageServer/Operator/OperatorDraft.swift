import Foundation
import HubProtocol
import WebEdge
import WebPages

/// An operator's message, checked.
struct OperatorDraft: Sendable {
    let properties: MessageProperties
    /// The tag expression; `nil` for everybody.
    let tags: String?
    let date: Date?

    /// The audience, for display.
    var audience: String { tags ?? "everybody" }

    /// - Throws: ``ProtocolError`` that names the invalid field.
    init(_ fields: OperatorSendPage.Fields) throws(ProtocolError) {
        guard !fields.text.allSatisfy(\.isWhitespace) else { throw .badRequest("The text is empty.") }
        var values: [MessageProperty: String] = [.messageParam: fields.text]
        values[.title] = fields.title.allSatisfy(\.isWhitespace) ? fields.text : fields.title
        if !fields.link.isEmpty { values[.link] = fields.link }
        let category = OperatorSendPage.category(of: fields.audience)
        if let category {
            values[.category] = category
            tags = try Tag(category).text
        } else if fields.audience == OperatorSendPage.everybody {
            guard fields.tags.allSatisfy(\.isWhitespace) else {
                throw .badRequest("Choose 'Everybody' or write a tag expression, not both.")
            }
            tags = nil
        } else {
            tags = try Self.expression(fields.tags)
        }
        properties = try MessageProperties(json: MessageProperties(values).encoded())
        if !fields.link.isEmpty, NewsText(properties).link == nil {
            throw .badRequest("The link is not a web address.")
        }
        date = fields.time.isEmpty ? nil : try ScheduleTime(parsing: fields.time).date
    }

    /// The tag expression of a field; an empty field must not become a message to everybody.
    private static func expression(_ text: String) throws(ProtocolError) -> String {
        guard !text.allSatisfy(\.isWhitespace) else {
            throw .badRequest("The tag expression is empty; choose 'Everybody' for all devices.")
        }
        do {
            // The hub checks the limits of expressions that are sent.
            _ = try TagExpression(parsing: text, limits: .stored)
        } catch {
            throw .badRequest("'\(text.excerpt)' is not a valid tag expression: \(error)")
        }
        return text
    }

    func message(key: String) -> OutgoingMessage {
        OutgoingMessage(properties.encoded(), tags: tags, idempotencyKey: key)
    }
}

extension OperatorSendPage {
    static let everybody = "everybody"
    /// The devices that match a tag expression.
    static let matching = "tags"
    private static let categoryPrefix = "category:"

    static func audience(ofCategory name: String) -> String { categoryPrefix + name }

    /// The category of an audience; `nil` for an audience that is not a category.
    static func category(of audience: String) -> String? {
        audience.hasPrefix(categoryPrefix) ? String(audience.dropFirst(categoryPrefix.count)) : nil
    }
}

extension OperatorSendPage.Fields {
    init(_ form: FormFields) {
        // Browsers send line breaks as CR LF.
        func text(_ name: String) -> String { (form[name] ?? "").replacing("\r\n", with: "\n") }
        self.init(
            audience: text("audience"),
            tags: text("tags"),
            title: text("title"),
            text: text("text"),
            link: text("link"),
            time: text("at")
        )
    }
}
