import Formats

/// The template that a reader's page registers for its browser.
///
/// Safari shows the notification without the page's service worker if it has a title and a page; the worker shows every
/// other one.
///
/// Source: W3C, "Push API" §declarative push message.
package enum BrowserTemplate {
    package static let name = AgentTemplate.name

    /// A push service accepts about 4,000 bytes, so texts are shortened: only the first lines of a notification are
    /// visible.
    package static let body = body(.title, .messageParam)

    /// The same with title and text in one language, and the address of that language's page in addition.
    package static func body(in language: LanguageName) -> String {
        body(language.titleProperty, language.newsProperty, localizedLink: language.linkProperty)
    }

    /// Checks for a declarative push message in which there is nothing to show.
    ///
    /// A browser must show something for every push, and would show a notification without text. A message renders like
    /// this if it has no text in the template's language. A secure message has an id instead of a text.
    ///
    /// - Parameter rendered: The rendered template; a text in any other form is the receiving app's own business.
    /// - Returns: True if there is nothing to show.
    package static func isBlank(_ rendered: [UInt8]) -> Bool {
        guard let root = try? JSONReader.read(rendered, allowsRepeats: true), root["web_push"] != nil,
            let notification = root["notification"], notification.members != nil
        else { return false }
        let texts = [notification["title"], notification["body"], root[MessageProperty.secureID.rawValue]]
        return texts.allSatisfy { $0?.string?.isEmpty ?? true }
    }

    private static func body(
        _ title: MessageProperty,
        _ text: MessageProperty,
        localizedLink: MessageProperty? = nil
    ) -> String {
        let body: JSONText = [
            "web_push": 8030,
            "notification": [
                "title": JSONText("$(\(title), 200)"), "body": JSONText("$(\(text), 500)"), "tag": "$(story)",
                "navigate": "$(link)",
            ],
            "secureId": "$(secureId)", "status": "$(status)",
            "localizedLink": JSONText(localizedLink.map { "$(\($0))" }),
        ]
        return body.text
    }
}
