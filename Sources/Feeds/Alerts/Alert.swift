package import FoundationEssentials

/// A public warning in the Common Alerting Protocol, 1.1 or 1.2.
///
/// An alert is a whole document, or is repeated in the entries of an index. Values of vocabularies, such as `Actual`,
/// `Update` and `Extreme`, are kept as written, trimmed.
///
/// Source: OASIS CAP-v1.2 §3.2.
package struct Alert: Sendable, Equatable, Encodable {
    package var version: String?
    package var identifier: String?
    package var sender: String?
    package var sent: Date?
    package var status: String?
    package var messageType: String?
    package var scope: String?
    package var source: String?
    package var note: String?
    /// The messages that an `Update` or `Cancel` replaces, as written: triples separated by white space, in practice also by commas.
    package var references: String?
    /// The same message in several languages or for several places.
    package var info: [Info] = []
    /// The text of `sent` as written, which is part of the message's ``reference``.
    var sentText: String?

    package struct Info: Sendable, Equatable, Encodable {
        package var language: String?
        package var categories: [String] = []
        package var event: String?
        package var urgency: String?
        package var severity: String?
        package var certainty: String?
        package var effective: Date?
        package var onset: Date?
        package var expires: Date?
        package var senderName: String?
        package var headline: String?
        package var description: String?
        package var instruction: String?
        package var web: String?
        /// The names of the areas that the alert applies to.
        package var areas: [String] = []

        package init() {}

        private enum CodingKeys: String, CodingKey {
            case language, event, urgency, severity, certainty, effective, onset, expires, senderName, headline
            case description, instruction, web, areas
            case categories = "category"
        }
    }

    package init() {}

    /// The members with their names in CAP.
    private enum CodingKeys: String, CodingKey {
        case version, identifier, sender, sent, status, scope, source, note, references, info
        case messageType = "msgType"
    }

    /// The name of this message in the ``references`` of other messages; `nil` when a part is missing.
    package var reference: String? {
        guard let sender, let identifier, let sentText else { return nil }
        return "\(sender),\(identifier),\(sentText)"
    }

    /// The ``reference``s of the messages that this one replaces.
    package var replaces: [String] {
        let parts = (references ?? "").split { $0.isWhitespace || $0 == "," }
        guard parts.count.isMultiple(of: 3) else {
            return (references ?? "").split(whereSeparator: \.isWhitespace).map(String.init)
        }
        return stride(from: 0, to: parts.count, by: 3).map { parts[$0..<$0 + 3].joined(separator: ",") }
    }

    /// The effect of a message on earlier ones.
    package enum Kind: Sendable, CaseIterable {
        case alert
        /// Replaces the messages that it refers to.
        case update
        /// Cancels the messages that it refers to.
        case cancel
        /// Informs other systems that a message was accepted or refused; not for the public.
        case acknowledgement
    }

    /// The kind given by ``messageType``; a missing or unknown type counts as an alert, so that no alert is lost.
    package var kind: Kind {
        switch messageType?.lowercased() {
        case "update": .update
        case "cancel": .cancel
        case "ack", "error": .acknowledgement
        default: .alert
        }
    }

    /// True if people have to act immediately, or if the severity is extreme.
    package var isUrgent: Bool {
        info.contains { $0.urgency?.lowercased() == "immediate" || $0.severity?.lowercased() == "extreme" }
    }

    /// False for tests, exercises, drafts and messages with a restricted scope, which must not reach the public.
    ///
    /// Fields that an index leaves out have their usual values.
    package var isForThePublic: Bool {
        (status ?? "Actual").lowercased() == "actual" && (scope ?? "Public").lowercased() == "public"
    }

    /// The time at which the last part expires; `nil` when a part does not expire.
    package var expires: Date? {
        let ends = info.compactMap(\.expires)
        return ends.count == info.count ? ends.max() : nil
    }
}
