import Formats
import HubProtocol
import WebEdge
import WebPages

/// A choice of messages in the operator's list: by category, state, day and words.
struct MessageFilter: Sendable {
    /// The number of messages that are read at a time, and the largest number for one page.
    static let (read, maximumRead) = (100, 400)
    /// The states that a message in the list can have.
    static let states: [MessageState] = [.enqueued, .processing, .completed, .abandoned, .noTargetFound, .unknown]

    let category: String
    let state: String
    let day: String
    let text: String
    private let words: SearchWords

    init(_ query: FormFields) {
        func value(_ name: String) -> String { String((query[name] ?? "").trimming(\.isWhitespace)) }
        (category, state, day, text) = (value("category"), value("state"), value("day"), value("q"))
        words = SearchWords(text)
    }

    var isEmpty: Bool { [category, state, day, text].allSatisfy(\.isEmpty) }

    /// The fields for the address of the next part.
    var query: String {
        let fields = [("category", category), ("state", state), ("day", day), ("q", text)].filter { !$0.1.isEmpty }
        return fields.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
    }

    /// True if the message, and all that are older, are of an earlier day.
    func isPast(_ message: MessageReport) -> Bool { !day.isEmpty && Self.sentAt(message).prefix(10) < day }

    /// The time that belongs to a message's place in the log: that of a scheduled one is when it was due.
    private static func sentAt(_ message: MessageReport) -> String { message.dueAt ?? message.acceptedAt }

    /// True for the messages of the choice; words are found in title and text, as far as the list has it.
    func selects(_ message: MessageReport) -> Bool {
        guard state.isEmpty || message.state.rawValue == state,
            day.isEmpty || Self.sentAt(message).hasPrefix(day),
            category.isEmpty || Self.tags(of: message).contains(category.lowercased())
        else { return false }
        return words.are(in: [message.title, message.text])
    }

    private static func tags(of message: MessageReport) -> [String] {
        guard let tags = message.tags, let expression = try? TagExpression(parsing: tags, limits: .stored) else {
            return []
        }
        return expression.tags.map { $0.text.lowercased() }
    }
}
