import Formats
import FoundationEssentials

extension Installation {
    /// Reads the JSON of an installation, whose id must be that of the request's path.
    ///
    /// Null counts as absent, and unknown members are ignored, as clients need it (protocol §4.2).
    ///
    /// - Throws: ``ProtocolError`` 400 with every problem, 413 for a document above ``maximumBytes``.
    package init(
        json: [UInt8],
        id: InstallationID? = nil,
        as direction: Direction = .request,
        maximumTags: Int = Self.maximumTags
    ) throws(ProtocolError) {
        let document = try JSONDocument.object(json, maximumBytes: Self.maximumBytes, called: "the installation")
        let members = JSONMembers(document)
        var problems = ProblemList()

        let name = members.text("installationId", &problems)
        let identifier = name.flatMap { text in
            problems.catching { () throws(ProtocolError) in try InstallationID(text) }
        }
        if members["installationId"] == nil { problems.add("installationId is missing") }
        if let identifier, let id, identifier != id {
            problems.add("installationId '\(identifier)' is not the id in the path, '\(id)'")
        }
        let platformName = members.text("platform", &problems)
        if members["platform"] == nil { problems.add("platform is missing") }
        let userID = members.text("userId", &problems).flatMap { text in
            text.isEmpty ? nil : problems.catching { () throws(ProtocolError) in try UserID(text) }
        }
        let read = Installation.Parts(members, direction, &problems)

        guard let identifier, let platformName else {
            try problems.throwIfAny()
            throw .badRequest("the installation is not complete")
        }
        self.init(
            id: identifier,
            userID: userID,
            platform: Platform(rawValue: platformName),
            pushChannel: nil,
            expirationTime: read.expirationTime,
            pushVariables: read.pushVariables,
            secondaryTiles: read.secondaryTiles
        )
        self[tile: nil] = read.target
        if direction == .request { checkRules(&problems, maximumTags: maximumTags) }
        try problems.throwIfAny()
    }

    private struct Parts {
        let target: SecondaryTile
        let expirationTime: Date?
        let pushVariables: [String: String]
        let secondaryTiles: [String: SecondaryTile]

        init(_ members: JSONMembers, _ direction: Direction, _ problems: inout ProblemList) {
            target = SecondaryTile(members, direction, at: "", &problems)
            expirationTime = members.text("expirationTime", &problems).flatMap { text in
                let date = ISODateTime.parse(text)
                if date == nil { problems.add("expirationTime '\(text.excerpt)' is not an ISO 8601 date-time") }
                return date.flatMap { ISODateTime.isNever($0) ? nil : $0 }
            }
            pushVariables = members.texts("pushVariables", at: "pushVariables", &problems)
            secondaryTiles = members.objects("secondaryTiles", at: "secondaryTiles", &problems) {
                name,
                tile,
                problems in
                SecondaryTile(tile, direction, at: "secondaryTiles/\(name.excerpt)/", &problems)
            }
        }
    }
}

extension SecondaryTile {
    /// Reads the members common to an installation and a secondary tile.
    ///
    /// `label` precedes a member's name in a problem: it is empty, or a path that ends in `/`.
    init(
        _ members: JSONMembers,
        _ direction: Installation.Direction,
        at label: String,
        _ problems: inout ProblemList
    ) {
        self.init(
            pushChannel: members["pushChannel"].flatMap { PushChannel($0, at: "\(label)pushChannel", &problems) },
            // Read-only in effect: a client cannot declare its own channel dead or alive (§4.2).
            pushChannelExpired: direction == .reply && members["pushChannelExpired"]?.content == .bool(true),
            tags: members["tags"].map { TagList.read($0, at: "\(label)tags", &problems) } ?? [],
            templates: members.objects("templates", at: "\(label)templates", &problems) { name, template, problems in
                InstallationTemplate(template, name: name, at: "\(label)templates/\(name.excerpt)", &problems)
            }
        )
    }
}

extension InstallationTemplate {
    init?(_ members: JSONMembers, name: String, at label: String, _ problems: inout ProblemList) {
        guard let body = members.text("body", at: "\(label)/body", &problems) else {
            problems.add("\(label) has no body")
            return nil
        }
        self.init(
            body: body,
            headers: members.texts("headers", at: "\(label)/headers", &problems),
            expiry: members.text("expiry", at: "\(label)/expiry", &problems),
            tags: members["tags"].map { TagList.read($0, ofTemplate: name, at: "\(label)/tags", &problems) } ?? []
        )
    }
}

/// Tags as a client lists them.
enum TagList {
    /// - Parameters:
    ///   - node: An array of strings.
    ///   - template: Name of the template that has these tags. A hub's reply lists that name among them even if it is
    ///     not a valid tag, and clients send back what they have read: such an element is ignored.
    ///   - label: The array's place, for problems.
    ///   - problems: Receives the problems.
    /// - Returns: The valid tags, each once, in their order.
    static func read(
        _ node: JSONNode,
        ofTemplate template: String? = nil,
        at label: String,
        _ problems: inout ProblemList
    ) -> [Tag] {
        guard case .array(let elements) = node.content else {
            problems.add("\(label) is \(node.kind), not an array of strings")
            return []
        }
        var tags: [Tag] = []
        for element in elements {
            guard let text = element.string else {
                problems.add("\(label) contains \(element.kind); tags are strings")
                continue
            }
            if text == template, Tag(templateName: text) == nil { continue }
            if let tag = read(text, at: label, &problems) { tags.append(tag) }
        }
        return tags.distinct()
    }

    /// Reads one tag; those that begin with `$` are assigned by the hub.
    static func read(_ text: String, at label: String, _ problems: inout ProblemList) -> Tag? {
        guard text.unicodeScalars.first != "$" else {
            problems.add("\(label): tag '\(text.excerpt)' begins with '$'; the hub itself assigns such tags")
            return nil
        }
        return problems.catching(at: label) { () throws(ProtocolError) in try Tag(text) }
    }
}
