package import HubProtocol

/// A message as the pages and feeds of the hub would show it.
package struct MessagePreview: Sendable, Equatable {
    package let title: String
    package let text: String?
    /// `nil` also for an address that is not shown as a link.
    package let link: String?

    package init(_ properties: MessageProperties) {
        let text = NewsText(properties)
        title = text.title
        self.text = text.text
        link = text.link
    }
}

extension Telling {
    /// As the reader's page shows it.
    package var title: String { text.title }
}
