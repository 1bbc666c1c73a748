import Foundation
import HubClient
import HubProtocol
import WebPages

/// A message as an operator has typed it, checked.
struct OperatorDraft: Sendable {
    let properties: MessageProperties
    /// `nil` for everybody.
    let tags: String?
    let date: Date?

    /// The audience for people.
    var audience: String { tags ?? "everybody" }

    /// - Throws: ``ProtocolError`` that says which field is wrong.
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
                throw .badRequest("'Everybody' and a tag expression exclude each other.")
            }
            tags = nil
        } else {
            tags = try Self.expression(fields.tags)
        }
        properties = try MessageProperties(json: MessageProperties(values).encoded())
        if !fields.link.isEmpty, MessagePreview(properties).link == nil {
            throw .badRequest("The link is not a web address.")
        }
        date = fields.time.isEmpty ? nil : try ScheduleTime(parsing: fields.time).date
    }

    /// A field that was left empty must not become a message to everybody.
    private static func expression(_ text: String) throws(ProtocolError) -> String {
        guard !text.allSatisfy(\.isWhitespace) else {
            throw .badRequest("The tag expression is empty; choose 'Everybody' for all devices.")
        }
        do {
            // How large it may be is the hub's to say.
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
    /// Those who match a tag expression.
    static let matching = "tags"
    private static let categoryPrefix = "category:"

    static func audience(ofCategory name: String) -> String { categoryPrefix + name }

    /// The category of an audience; `nil` for one that is not a category's.
    static func category(of audience: String) -> String? {
        audience.hasPrefix(categoryPrefix) ? String(audience.dropFirst(categoryPrefix.count)) : nil
    }
}

extension OperatorSendPage.Fields {
    init(_ form: FormBody) {
        // Browsers send lines with both ends.
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
