/// The relation of a message to earlier ones of its story; most are the first and have none.
enum MessageStatus: String, Sendable, CaseIterable {
    /// Tells more, or something else.
    case update
    /// Puts right what was wrong.
    case correction
    /// Takes back what was said: a retraction, or the end of an alert.
    case withdrawn
}
