import HubProtocol

/// Tags that identify a device's user.
///
/// The app backend has the hub's Manage right, so the hub does not check its requests for reserved tags. This type
/// checks the tags that users ask for.
struct DeviceTags: Sendable {
    let reserved: ReservedTagPrefixes

    /// The prefix of the tag by which a user is notified; always reserved.
    private static let userPrefix = "username:"

    static func tag(of user: UserName) -> Tag {
        do {
            return try Tag("\(userPrefix)\(user.key)")
        } catch {
            preconditionFailure("a user name of 64 ASCII characters fits a tag")
        }
    }

    /// The key of the user whose tag is in `tags`; `nil` without one.
    static func user(in tags: [Tag]) -> String? {
        tags.first { $0.hasPrefix(userPrefix) }.map { String($0.text.dropFirst(userPrefix.count)).lowercased() }
    }

    /// - Throws: 400 for a tag that would let a user receive another user's messages, or forge a sender.
    func check(_ tags: [Tag]) throws(BackendRefusal) {
        for tag in tags where tag.isServerAssigned || reserved.contains(tag) || tag.hasPrefix(Self.userPrefix) {
            throw .badRequest("The tag '\(tag.text.excerpt)' is assigned by the server: leave it out.")
        }
    }

    /// Checks all tags of an installation.
    ///
    /// The name of a template is a tag of that template (protocol §4.3). Other hubs may split a name at commas, so each
    /// part is checked.
    func check(_ installation: Installation) throws(BackendRefusal) {
        guard installation.userID == nil else {
            throw .badRequest("The member 'userId' is assigned by the server: leave it out.")
        }
        var templates = Array(installation.templates)
        var tags = installation.tags
        for tile in installation.secondaryTiles.values {
            tags += tile.tags
            templates += Array(tile.templates)
        }
        for (name, template) in templates {
            tags += template.tags
            let parts = name.split(separator: ",").map { $0.drop { $0.isWhitespace } }
            for part in parts where part.hasPrefix("$") {
                throw .badRequest("A part of the template name '\(name.excerpt)' begins with '$': leave it out.")
            }
            tags += parts.compactMap { try? Tag(String($0)) }
        }
        try check(tags)
    }
}
