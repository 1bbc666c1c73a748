import Formats
import FoundationEssentials
import HostSystem
package import HubProtocol

/// A row in the form in which handlers write it.
package struct InboxLine: Sendable, Encodable {
    package let id: String
    package let title: String
    package let message: String
    package let link: String
    package let category: String
    /// ISO 8601, UTC, milliseconds.
    package let receivedAt: String
    /// True if a handler may have worked on this row before; else absent.
    package let redelivery: Bool?
    /// The name of the message's story, if it has one.
    package let story: String?
    /// `update`, `correction` or `withdrawn`, if the message replaces others.
    package let status: String?
    /// The names of the stories that the message replaces, with spaces between them; else absent.
    package let replaces: String?
    /// `replaced` or `withdrawn`, if a later message in the inbox has replaced it.
    package let superseded: String?
    /// The id of an earlier message that brought the same version of the story to another category; else absent.
    package let sameAs: String?
    /// The gap, if the row reports missed messages.
    package let gap: StreamGap?

    package init(_ record: InboxRecord) {
        id = record.id
        title = record.content.title
        message = record.content.message
        link = record.content.link
        category = record.content.category
        receivedAt = ISODateTime.formatMilliseconds(record.receivedAt.date)
        redelivery = record.isRedelivery ? true : nil
        let relation = record.relation
        story = relation.story.isEmpty ? nil : relation.story
        status = relation.status?.rawValue
        replaces = relation.replaces.isEmpty ? nil : relation.replaces.joined(separator: " ")
        superseded = record.supersession?.rawValue
        sameAs = record.sameAs
        gap = record.kind == .gap ? try? JSONReader.decode(StreamGap.self, from: record.body, limits: .stored) : nil
    }

    /// The JSON object in one line, without the line end.
    package var json: String {
        (try? JSONEncoder.plain.text(self)).map(TerminalText.escaped) ?? "{}"
    }

    /// `[World] message  link`, safe for a terminal.
    package var text: String {
        var parts: [String] = []
        if redelivery == true { parts.append("(again)") }
        if sameAs != nil { parts.append("(same story)") }
        if let superseded { parts.append("(\(superseded) later)") }
        if let status { parts.append("(\(status))") }
        if !category.isEmpty { parts.append("[\(TerminalText.safe(category))]") }
        let body = message.isEmpty || gap != nil ? title : message
        parts.append(TerminalText.safe(body.isEmpty ? "(no text)" : body))
        if let gap { parts.append("(\(TerminalText.safe(gap.reason)))") }
        if !link.isEmpty { parts.append(TerminalText.safe(link)) }
        return parts.joined(separator: " ")
    }
}
