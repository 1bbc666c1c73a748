internal import Markup

/// The author of a text.
package struct Person: Sendable, Equatable {
    /// The longest name, in characters.
    private static let limit = 300

    package var name: String?
    /// The email address, which is shown when a feed is checked and never published.
    package var mail: String?

    init?(name: String?, mail: String?) {
        guard name != nil || mail != nil else { return nil }
        self.name = name
        self.mail = mail
    }

    /// Reads `mail (Name)`, `Name <mail>`, `Name`, or an email address alone.
    init?(_ text: String) {
        guard text.utf8.contains(0x40) else {
            self.init(name: FeedText(text, .html).plain(limit: Self.limit), mail: nil)
            return
        }
        let written = PlainText.clean(text, limit: Self.limit)
        let mail = written.split { " <>()".contains($0) }.first { $0.contains("@") }.map(String.init)
        if let open = written.firstIndex(of: "("), let close = written.lastIndex(of: ")"), open < close {
            let inside = written[written.index(after: open)..<close]
            if !inside.contains("@") {
                self.init(name: Self.nonEmpty(String(inside)), mail: mail)
                return
            }
        }
        let words = written.split(separator: " ").filter { !$0.contains("@") }
        self.init(name: Self.nonEmpty(words.joined(separator: " ")), mail: mail)
    }

    private static func nonEmpty(_ text: String) -> String? {
        let text = PlainText.clean(text, limit: limit)
        return text.isEmpty ? nil : text
    }
}
