/// The template that a reader's page registers for its browser.
///
/// Safari shows the notification without the page's service worker if it has a title and a page; the worker shows every
/// other one.
///
/// Source: W3C, "Push API" §declarative push message.
package enum BrowserTemplate {
    package static let name = AgentTemplate.name

    /// A push service takes about 4,000 bytes, so texts are cut: of a notification only the first lines are visible.
    package static let body = """
        {"web_push":8030,"notification":{"title":"$(title, 200)","body":"$(messageParam, 500)","tag":"$(story)",\
        "navigate":"$(link)"},"secureId":"$(secureId)","status":"$(status)"}
        """
}
