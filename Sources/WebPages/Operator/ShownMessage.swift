package import HubProtocol

/// A message as the hub's pages and feeds would show it.
package struct ShownMessage: Sendable, Equatable {
    package let title: String
    package let text: String?
    /// The link; `nil` also for an address that is not shown as a link.
    package let link: String?

    package init(_ properties: MessageProperties) {
        let text = NewsText(properties)
        title = text.title
        self.text = text.text
        link = text.link
    }
}

extension StoryVersion {
    /// The title on the reader's page.
    package var title: String { text.title }
}
