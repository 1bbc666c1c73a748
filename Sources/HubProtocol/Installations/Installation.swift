import Formats
package import FoundationEssentials

/// A device's or agent's full record: its push address, tags and templates.
///
/// `Codable` is for stores; the wire form is ``init(json:id:as:)`` and ``encodedJSON(as:)``.
///
/// Source: protocol §4.
package struct Installation: Sendable, Equatable, Codable {
    /// Largest JSON document, in bytes; the protocol's limit for a request.
    package static let maximumBytes = 65_536
    /// Maximum number of tags of an installation together with those of one template, unless a hub sets another limit
    /// (§3.8).
    package static let maximumTags = 60
    /// Length of all tags joined by commas, in characters (§3.8).
    package static let maximumTagsLength = 8_000
    package static let maximumTemplates = 50
    /// Longest name of a template, in characters (§3.8).
    package static let maximumTemplateNameLength = 200
    package static let maximumPushVariables = 100
    /// Maximum size of the names and values of all push variables together, in bytes: templates can repeat them many
    /// times.
    package static let maximumVariableBytes = 16_384
    package static let maximumSecondaryTiles = 16

    /// The author of a document, who decides what it must contain.
    package enum Direction: Sendable {
        /// A PUT: complete and within every limit. Server-assigned tags are refused.
        case request
        /// A reply of a hub.
        ///
        /// It may omit the push channel, and only its types are checked.
        case reply
    }

    package var id: InstallationID
    package var userID: UserID?
    package var platform: Platform
    /// The push channel; `nil` if a reply omits it, or if only its digest is stored.
    package var pushChannel: PushChannel?
    package var pushChannelExpired: Bool
    /// The expiration time; `nil` for never.
    package var expirationTime: Date?
    /// The tags without the server-assigned ones, in the client's order and without repeats.
    package var tags: [Tag]
    /// The device's own values for template properties.
    package var pushVariables: [String: String]
    package var templates: [String: InstallationTemplate]
    package var secondaryTiles: [String: SecondaryTile]

    package init(
        id: InstallationID,
        userID: UserID? = nil,
        platform: Platform,
        pushChannel: PushChannel?,
        pushChannelExpired: Bool = false,
        expirationTime: Date? = nil,
        tags: [Tag] = [],
        pushVariables: [String: String] = [:],
        templates: [String: InstallationTemplate] = [:],
        secondaryTiles: [String: SecondaryTile] = [:]
    ) {
        self.id = id
        self.userID = userID
        self.platform = platform
        self.pushChannel = pushChannel
        self.pushChannelExpired = pushChannelExpired
        self.expirationTime = expirationTime
        self.tags = tags
        self.pushVariables = pushVariables
        self.templates = templates
        self.secondaryTiles = secondaryTiles
    }
}

extension Installation {
    /// The tags that the hub adds, in its order: `$InstallationId:{…}` and, with a user, `$UserId:{…}` (§4.3).
    package var serverAssignedTags: [Tag] {
        [Tag.installation(id)] + (userID.map { [Tag.user($0)] } ?? [])
    }

    /// Restores tags of an earlier state that this one omits, each in its place if that still exists.
    ///
    /// It is for reserved tags, which only Manage may remove (protocol §11.3).
    package mutating func keepTags(of earlier: Installation, where isKept: (Tag) -> Bool) {
        for name in tileNames {
            guard var kept = self[tile: name], let former = earlier[tile: name] else { continue }
            Self.keep(former.tags, in: &kept.tags, where: isKept)
            Self.keep(former.templates, in: &kept.templates, where: isKept)
            self[tile: name] = kept
        }
    }

    private static func keep(
        _ earlier: [String: InstallationTemplate],
        in templates: inout [String: InstallationTemplate],
        where isKept: (Tag) -> Bool
    ) {
        for (name, template) in earlier {
            guard var kept = templates[name] else { continue }
            keep(template.tags, in: &kept.tags, where: isKept)
            templates[name] = kept
        }
    }

    private static func keep(_ earlier: [Tag], in tags: inout [Tag], where isKept: (Tag) -> Bool) {
        let present = Set(tags)
        tags.append(contentsOf: earlier.filter { isKept($0) && !present.contains($0) })
    }
}

extension Installation {
    /// Returns the document in the member order of the service's replies; absent members are omitted.
    ///
    /// A reply omits the push channel of platform `stream`, which is a secret, and has a distant expiration time
    /// instead of none.
    package func encodedJSON(as direction: Direction) -> String {
        let isReply = direction == .reply
        let expiration = expirationTime.map(ISODateTime.format) ?? (isReply ? ISODateTime.never : nil)
        let document: JSONText = [
            "installationId": JSONText(id.text),
            "pushChannel": isReply && platform == .stream ? nil : pushChannel?.json,
            "pushChannelExpired": isReply ? JSONText(pushChannelExpired) : nil,
            "platform": JSONText(platform.rawValue),
            "expirationTime": JSONText(expiration),
            "tags": JSONText(strings: tags.map(\.text)).unlessEmpty,
            "pushVariables": JSONText(sorted: pushVariables).unlessEmpty,
            "templates": SecondaryTile.json(templates, as: direction).unlessEmpty,
            "secondaryTiles": JSONText(sorted: secondaryTiles.mapValues { $0.json(as: direction) }).unlessEmpty,
            "userId": JSONText(userID?.text),
        ]
        return document.text
    }
}
