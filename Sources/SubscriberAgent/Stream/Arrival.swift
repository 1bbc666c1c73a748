import FoundationEssentials
import HubProtocol

/// An event of the stream as it enters the inbox.
struct Arrival: Sendable, Equatable {
    /// Largest part kept of an event that could not be read, in characters.
    static let maximumUnreadable = 2_000

    let kind: InboxRecord.Kind
    let id: String
    let template: String
    let body: String
    let content: MessageContent
    /// Why it could not be read; `nil` for all that could.
    let failure: String?
    /// Why it is not shown: there is no text in it.
    var emptiness: String?

    /// The id of the text, which is to be fetched.
    var secureID: Int64?

    /// True if it is work for a handler.
    var isWork: Bool { failure == nil && emptiness == nil && secureID == nil }

    /// `choice` is the agent's template; an event of another one is judged by what it says alone.
    static func message(_ event: StreamEvent, rendered choice: TemplateChoice) -> Arrival {
        let template = event.template == AgentTemplate.name ? choice.body : nil
        // A native message is rendered by nobody.
        let emptiness = event.template.isEmpty ? TemplateChoice.standard.emptiness : choice.emptiness
        let content = MessageContent(body: event.body)
        return Arrival(
            kind: .message,
            id: event.id.text,
            template: event.template,
            body: event.body,
            content: content,
            failure: nil,
            emptiness: RenderedText.isEmpty(event.body, of: template) ? emptiness : nil,
            secureID: secureID(event.body, content)
        )
    }

    /// The id of a secure notification; one that brings a text of its own is read as any message.
    private static func secureID(_ body: String, _ content: MessageContent) -> Int64? {
        guard content.title.isEmpty, content.message.isEmpty,
            let text = MessageProperty.texts(of: body)[.secureID], let id = Int64(text), secureIDs.contains(id)
        else { return nil }
        return id
    }

    /// Positive numbers of 31 bits (protocol §9).
    private static let secureIDs: ClosedRange<Int64> = 1...2_147_483_647

    /// The id holds all that tells this gap from another, because a hub that is not told of a newer cursor repeats it.
    ///
    /// A loss that the hub has a name for is the same wherever the stream that announces it began.
    static func gap(_ gap: StreamGap, body: String, epoch: String) -> Arrival {
        let loss = gap.loss.flatMap { StreamPosition(parsing: $0) }
        return Arrival(
            kind: .gap,
            id: loss.map { "loss:\($0)" } ?? "gap:\(gap.after ?? ""):\(epoch):\(gap.resumesAt)",
            template: "",
            body: body,
            content: MessageContent(title: "Messages were missed", message: gap.reason),
            failure: nil
        )
    }

    /// Reads the announcement of a gap; one that cannot be read says that something is missing even if not what.
    static func gap(_ data: String, at position: String) -> Arrival {
        let epoch = StreamPosition(parsing: position)?.epoch ?? ""
        if let gap = try? JSONDecoder().decode(StreamGap.self, from: Data(data.utf8)) {
            return .gap(gap, body: data, epoch: epoch)
        }
        let unknown = StreamGap(after: position, resumesAt: 0, reason: "the hub did not say which")
        return .gap(unknown, body: "{}", epoch: epoch)
    }

    /// An event that is put aside; `position` is where in the stream it stood, by the last event id seen.
    static func unreadable(_ data: String, position: String, reason: String) -> Arrival {
        Arrival(
            kind: .unreadable,
            id: "unreadable:\(position):\(String(fingerprint(data), radix: 16))",
            template: "",
            body: String(data.prefix(maximumUnreadable)),
            content: MessageContent(),
            failure: "the event cannot be read: \(reason)"
        )
    }

    /// FNV-1a: tells events at one position apart; nothing depends on its strength.
    private static func fingerprint(_ text: String) -> UInt64 {
        text.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
