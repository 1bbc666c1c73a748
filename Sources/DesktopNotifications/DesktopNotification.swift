internal import HostSystem
package import NetworkAddresses

/// A notification for the person at the desktop.
///
/// The initializer clips and cleans the texts, which come from feeds and from everyone who may send.
package struct DesktopNotification: Sendable, Equatable {
    /// Maximum bytes of UTF-8: more than any service shows, and small enough for a hundred notifications.
    package static let maximumSummary = 400
    package static let maximumBody = 2_000

    /// The key by which a notification replaces an earlier one.
    package let key: String
    package let summary: String
    package let body: String
    package let urgency: Urgency
    /// The page to open when the notification is clicked.
    package let link: WebLink?
    /// Keys of other notifications that it replaces.
    package let replaces: [String]

    /// The values of the hint of this name.
    package enum Urgency: UInt8, Sendable, CaseIterable {
        case low = 0
        case normal = 1
        /// Stays until it is dismissed.
        case critical = 2
    }

    package init(
        key: String,
        summary: String,
        body: String,
        urgency: Urgency = .normal,
        link: WebLink? = nil,
        replaces: [String] = []
    ) {
        self.key = key
        self.summary = Self.clipped(summary, bytes: Self.maximumSummary)
        self.body = Self.clipped(body, bytes: Self.maximumBody)
        self.urgency = urgency
        self.link = link
        self.replaces = replaces
    }

    /// Returns a text cut between characters.
    private static func clipped(_ text: String, bytes limit: Int) -> String {
        // Cleaning removes characters, so read twice the limit.
        let safe = TerminalText.safe(String(text.unicodeScalars.prefix(2 * limit)))
        guard safe.utf8.count > limit else { return safe }
        var kept = ""
        var room = limit - "…".utf8.count
        for character in safe {
            room -= character.utf8.count
            guard room >= 0 else { break }
            kept.append(character)
        }
        return kept + "…"
    }
}

extension DesktopNotification {
    /// Returns the notification's texts for a service with these capabilities.
    ///
    /// Source: Desktop Notifications Specification 1.2, "Basic Design", "Markup" and `GetCapabilities`.
    func text(for capabilities: ServiceCapabilities) -> (summary: String, body: String) {
        // A service without bodies would show the summary alone.
        guard capabilities.hasBody else {
            let line = [summary, body].filter { !$0.isEmpty }.joined(separator: ": ")
            return (Self.clipped(line, bytes: Self.maximumSummary), "")
        }
        var lines = [body]
        // If the service has no clicks, show the address.
        if let link, !capabilities.hasActions { lines.append(link.text) }
        let text = lines.filter { !$0.isEmpty }.joined(separator: "\n")
        return (summary, capabilities.hasMarkup ? Self.escaped(text) : text)
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}

/// The capabilities of a notification service that affect a notification's text and actions.
struct ServiceCapabilities: Sendable, Equatable {
    var hasBody = false
    /// The service reads the body as markup, so literal text must be escaped.
    var hasMarkup = false
    var hasActions = false

    init(_ names: [String]) {
        hasBody = names.contains("body")
        hasMarkup = names.contains("body-markup")
        hasActions = names.contains("actions")
    }
}
