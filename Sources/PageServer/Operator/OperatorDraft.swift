import Foundation
import HubProtocol
import WebEdge
import WebPages

/// An operator's message, checked: one part for each of its categories, or for each message that it replaces.
struct OperatorDraft: Sendable {
    struct Part: Sendable {
        let properties: MessageProperties
        /// The tag expression; `nil` for everybody.
        let tags: String?
        let key: String

        /// The audience, for display.
        var audience: String { tags ?? "everybody" }

        var message: OutgoingMessage { OutgoingMessage(properties.encoded(), tags: tags, idempotencyKey: key) }
    }

    let parts: [Part]
    let date: Date?
    /// True if it stays on screens, or corrects a message that does: it may need the approval of a second account.
    ///
    /// A withdrawal never does: it takes a message away, and must not wait.
    let isUrgent: Bool

    /// The audiences, for display.
    var audience: String { parts.map(\.audience).joined(separator: ", ") }

    /// The urgency, for display; `nil` for a withdrawal.
    var urgency: String? {
        guard let properties = parts.first?.properties, properties[.status] != MessageStatus.withdrawn.rawValue else {
            return nil
        }
        return properties.isUrgent ? "urgent" : properties[.urgency] ?? "normal"
    }

    /// The content, as pages show it.
    var shown: NewsText { NewsText(parts.first?.properties ?? MessageProperties([:])) }

    /// Checks the form.
    ///
    /// - Parameters:
    ///   - fields: The form.
    ///   - originals: The messages that it corrects or withdraws.
    ///   - key: The key of the confirmed form, from which each part has its own.
    /// - Throws: ``ProtocolError`` that names the invalid field.
    init(_ fields: OperatorSendPage.Fields, replacing originals: [SentStory], key: String) throws(ProtocolError) {
        date = fields.time.isEmpty ? nil : try ScheduleTime(parsing: fields.time).date
        let isWithdrawal = fields.status == MessageStatus.withdrawn.rawValue
        let texts = isWithdrawal ? MessageProperties([:]) : try Self.texts(fields)
        guard originals.isEmpty else {
            var parts: [Part] = []
            for original in originals {
                let status: MessageStatus = isWithdrawal ? .withdrawn : .correction
                guard let properties = original.replaced(by: texts, status, key: key) else {
                    throw .badRequest("Title and text are empty.")
                }
                parts.append(Part(properties: properties, tags: original.tags, key: "\(key)/\(original.id)"))
            }
            self.parts = parts
            let versions = parts.map(\.properties) + originals.map(\.properties)
            isUrgent = !isWithdrawal && versions.contains(where: \.isUrgent)
            return
        }
        isUrgent = texts.isUrgent
        guard texts[.title] != nil else { throw .badRequest("Title and text are empty.") }
        let story = texts.asStory(key: key)
        if fields.audience.isEmpty, fields.tags.allSatisfy(\.isWhitespace), !fields.categories.isEmpty {
            var parts: [Part] = []
            for name in fields.categories {
                let category = try Tag(name).text
                var values = story.all
                values.set(.category, category)
                parts.append(
                    Part(
                        properties: MessageProperties(values),
                        tags: category,
                        key: "\(key)/\(category.lowercased())"
                    )
                )
            }
            self.parts = parts
        } else {
            parts = [Part(properties: story, tags: try Self.tags(fields), key: key)]
        }
    }

    /// Returns title, text, link and urgency; no title and text if both fields are empty.
    private static func texts(_ fields: OperatorSendPage.Fields) throws(ProtocolError) -> MessageProperties {
        func filled(_ text: String) -> String? { text.allSatisfy(\.isWhitespace) ? nil : text }
        var values: [MessageProperty: String] = [:]
        values[.title] = filled(fields.title) ?? filled(fields.text)
        values[.messageParam] = filled(fields.text) ?? filled(fields.title)
        values[.link] = filled(fields.link)
        if let urgency = filled(fields.urgency) {
            guard MessageUrgency(rawValue: urgency) != nil else { throw .badRequest("The urgency is unknown.") }
            values[.urgency] = urgency
        }
        let properties = try MessageProperties(json: MessageProperties(values).encoded())
        if values[.link] != nil, NewsText(properties).link == nil {
            throw .badRequest("The link is not a web address.")
        }
        return properties
    }

    /// Returns the tag expression for recipients other than categories; `nil` for everybody.
    private static func tags(_ fields: OperatorSendPage.Fields) throws(ProtocolError) -> String? {
        let isBlank = fields.tags.allSatisfy(\.isWhitespace)
        guard fields.categories.isEmpty else {
            throw .badRequest("Choose categories or other recipients, not both.")
        }
        switch (fields.audience, isBlank) {
        case (OperatorSendPage.everybody, true): return nil
        case (OperatorSendPage.everybody, false):
            throw .badRequest("Choose 'Everybody' or write a tag expression, not both.")
        // An empty field must not become a message to everybody.
        case (OperatorSendPage.matching, true):
            throw .badRequest("The tag expression is empty; choose 'Everybody' for all devices.")
        case (_, true): throw .badRequest("There are no recipients: choose a category.")
        case (_, false): break
        }
        do {
            // The hub checks the limits of expressions that are sent.
            _ = try TagExpression(parsing: fields.tags, limits: .stored)
        } catch {
            throw .badRequest("'\(fields.tags.excerpt)' is not a valid tag expression: \(error)")
        }
        return fields.tags
    }
}

extension OperatorSendPage.Fields {
    init(_ form: FormFields) {
        // Browsers send line breaks as CR LF.
        func text(_ name: String) -> String { (form[name] ?? "").replacing("\r\n", with: "\n") }
        self.init()
        categories = form.all("category")
        (audience, tags, title, self.text) = (text("audience"), text("tags"), text("title"), text("text"))
        (link, urgency, time) = (text("link"), text("urgency"), text("at"))
        (original, status, draft) = (text("original"), text("status"), text("draft"))
        former = text("former")
    }
}
