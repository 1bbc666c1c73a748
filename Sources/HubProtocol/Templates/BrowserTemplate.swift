/// The template that a reader's page registers for its browser.
///
/// Safari shows the notification without the page's service worker if it has a title and a page; the worker shows every
/// other one.
///
/// Source: W3C, "Push API" §declarative push message.
package enum BrowserTemplate {
    package static let name = AgentTemplate.name

    /// A push service takes about 4,000 bytes, so texts are cut: of a notification only the first lines are visible.
    package static let body = body(.title, .messageParam)

    /// The same with title and text in one language, and the address of that language's page beside the usual one.
    package static func body(in language: LanguageName) -> String {
        body(language.titleProperty, language.newsProperty, #","localizedLink":"$(\#(language.linkProperty))""#)
    }

    private static func body(_ title: MessageProperty, _ text: MessageProperty, _ further: String = "") -> String {
        """
        {"web_push":8030,"notification":{"title":"$(\(title), 200)","body":"$(\(text), 500)","tag":"$(story)",\
        "navigate":"$(link)"},"secureId":"$(secureId)","status":"$(status)"\(further)}
        """
    }
}
