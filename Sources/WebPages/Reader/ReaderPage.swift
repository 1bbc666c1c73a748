import Mustache

/// The reader's page: the choice of categories, and the news.
///
/// The template sees stored properties only.
package struct ReaderPage: WebPage {
    package struct Category: MustacheParent, Sendable {
        let name: String
        let isChosen: Bool

        package init(name: String, isChosen: Bool) {
            self.name = name
            self.isChosen = isChosen
        }

        package func child(named name: String) -> Any? {
            switch name {
            case "name": self.name
            case "isChosen": isChosen
            default: nil
            }
        }
    }

    package struct FeedLink: Sendable {
        let type: String
        let title: String
        let href: String

        package init(type: String, title: String, href: String) {
            self.type = type
            self.title = title
            self.href = href
        }
    }

    package let template = "reader"
    let script = WebAsset.reader.path
    let notifyScript = WebAsset.notify.path
    let worker = WorkerFile.path
    package let frame: PageFrame
    let categories: [Category]
    let hasCategories: Bool
    /// For a sentence: `World, Sports`; `nil` before a choice.
    let choice: String?
    /// The news, newest first.
    let messages: [MessageView]
    let isEmpty: Bool
    /// What stands where there is no news.
    let empty: String
    /// For the script, which fills it.
    let blank = MessageView.blank
    package var feeds: [FeedLink] = []
    /// The stream of this session; `nil` for who has not subscribed.
    package var events: String?
    /// Where the stream goes on after ``messages``.
    package var position: String?
    package var gap: String?
    /// Where the browser's push subscription goes; `nil` for who has not subscribed.
    package var push: String?
    /// `nil` where nobody can sign in.
    package var send: SendForm?

    package init(frame: PageFrame, categories: [Category], messages: [MessageView]) {
        self.frame = frame
        self.categories = categories
        hasCategories = !categories.isEmpty
        let chosen = categories.filter(\.isChosen).map(\.name)
        choice = chosen.isEmpty ? nil : chosen.joined(separator: ", ")
        self.messages = messages
        isEmpty = messages.isEmpty
        empty =
            categories.isEmpty || chosen.isEmpty
            ? "There is no news yet."
            : "There is no news in these categories yet."
    }
}
