import HubProtocol

/// The members of a message that agents know, as plain strings; absent ones are empty.
///
/// They are the same for the agent's own template and for native messages of format `stream` (protocol §11.4).
package struct MessageContent: Sendable, Equatable {
    package var title: String
    package var message: String
    package var link: String
    package var category: String

    package init(title: String = "", message: String = "", link: String = "", category: String = "") {
        self.title = title
        self.message = message
        self.link = link
        self.category = category
    }

    /// Reads a body; members of other types than string count as absent, since any template may have been used.
    ///
    /// The page of a translation takes precedence over the story's page.
    package init(body: String) {
        let members = MessageProperty.texts(of: body)
        let links = [members[.localizedLink], members[.link]].compactMap(\.self)
        self.init(
            title: members[.title] ?? "",
            message: members[.message] ?? "",
            link: links.first { !$0.isEmpty } ?? "",
            category: members[.category] ?? ""
        )
    }
}
