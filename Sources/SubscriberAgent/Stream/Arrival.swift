import Formats
import FoundationEssentials
import HubProtocol

/// An event of the stream in the form in which it is stored in the inbox.
struct Arrival: Sendable, Equatable {
    /// Maximum number of characters kept of an event that could not be read.
    static let maximumUnreadable = 2_000

    let kind: InboxRecord.Kind
    let id: String
    var template = ""
    let body: String
    var content = MessageContent()
    /// The reason why it could not be read; `nil` if it could.
    var failure: String?
    /// The reason why it is not shown: it has no text.
    var emptiness: String?

    /// The id of a text that must be fetched.
    var secureID: Int64?

    /// True if a handler is needed.
    var isWork: Bool { failure == nil && emptiness == nil && secureID == nil }

    /// Makes an arrival of a message; `choice` is the agent's template, and is ignored for an event of another
    /// template.
    static func message(_ event: StreamEvent, rendered choice: TemplateChoice) -> Arrival {
        let template = event.template == AgentTemplate.name ? choice.body : nil
        // A native message is not rendered by a template.
        let emptiness = event.template.isEmpty ? TemplateChoice.standard.emptiness : choice.emptiness
        let content = MessageContent(body: event.body)
        return Arrival(
            kind: .message,
            id: event.id.text,
            template: event.template,
            body: event.body,
            content: content,
            emptiness: RenderedText.isEmpty(event.body, of: template) ? emptiness : nil,
            secureID: secureID(event.body, content)
        )
    }

    /// Returns the id of a secure notification; `nil` for a message with a text, which is shown like any message.
    private static func secureID(_ body: String, _ content: MessageContent) -> Int64? {
        guard content.title.isEmpty, content.message.isEmpty,
            let text = MessageProperty.texts(of: body)[.secureID], let id = Int64(text), secureIDs.contains(id)
        else { return nil }
        return id
    }

    /// Positive numbers of 31 bits (protocol §9).
    private static let secureIDs: ClosedRange<Int64> = 1...2_147_483_647

    /// Makes an arrival of a gap.
    ///
    /// The id contains everything that distinguishes this gap from others, because a hub repeats a gap until it gets a
    /// newer cursor. A loss that the hub names has the same id in every stream.
    static func gap(_ gap: StreamGap, body: String, epoch: String) -> Arrival {
        let loss = gap.loss.flatMap { StreamPosition(parsing: $0) }
        return Arrival(
            kind: .gap,
            id: loss.map { "loss:\($0)" } ?? "gap:\(gap.after ?? ""):\(epoch):\(gap.resumesAt)",
            body: body,
            content: MessageContent(title: "Messages were missed", message: gap.reason)
        )
    }

    /// Reads the announcement of a gap; if it cannot be read, the arrival says that something is missing.
    static func gap(_ data: String, at position: String) -> Arrival {
        let epoch = StreamPosition(parsing: position)?.epoch ?? ""
        if let gap = try? JSONReader.decode(StreamGap.self, from: data) {
            return .gap(gap, body: data, epoch: epoch)
        }
        let unknown = StreamGap(after: position, resumesAt: 0, reason: "the hub did not report which")
        return .gap(unknown, body: "{}", epoch: epoch)
    }

    /// Makes an arrival of an unreadable event; `position` is the last event id before it.
    static func unreadable(_ data: String, position: String, reason: String) -> Arrival {
        Arrival(
            kind: .unreadable,
            id: "unreadable:\(position):\(String(fingerprint(data), radix: 16))",
            body: String(data.prefix(maximumUnreadable)),
            failure: "the event cannot be read: \(reason)"
        )
    }

    /// The FNV-1a hash, which distinguishes events at one position; it need not be strong.
    private static func fingerprint(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
