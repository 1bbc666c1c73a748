import HubProtocol

/// The members of a message that agents know, as plain strings; absent ones are empty.
///
/// They are the same for the agent's own template and for native messages of format `stream` (protocol §11.4).
package struct MessageContent: Sendable, Equatable {
    package var title = ""
    package var message = ""
    package var link = ""
    package var category = ""
}

extension MessageContent {
    /// Reads a body; members of other types than string count as absent, since any template may have been used.
    ///
    /// The page of a translation takes precedence over the story's page.
    init(body: String) {
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
