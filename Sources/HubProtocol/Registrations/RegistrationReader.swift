import Formats
import FoundationEssentials
import Markup

extension Registration {
    /// Largest body of a request, in bytes; the protocol's own limit (§2).
    package static let maximumBytes = 65_536

    /// Reads the Atom entry by which a client creates or replaces a registration.
    ///
    /// The elements of the description may come in any order. Elements that only the hub sets are ignored, and so are
    /// unknown ones: clients send back what they received (protocol §3.7).
    ///
    /// - Parameters:
    ///   - body: The body in the encoding that its first bytes show, whatever it declares.
    ///   - id: The id of the request's path, or a new one.
    ///   - maximumTags: The maximum number of tags.
    /// - Throws: ``ProtocolError`` 400 naming every problem at once, 413 for a body above ``maximumBytes``.
    package init(
        entry body: [UInt8],
        id: RegistrationID,
        maximumTags: Int = Installation.maximumTags
    ) throws(ProtocolError) {
        let root = try Self.root(of: body, limit: Self.maximumBytes)
        guard root.name == AtomNames.entry else {
            throw .badRequest(
                "the body's root is '\(root.localName.excerpt)' in \(root.shownNamespace), not 'entry' in namespace "
                    + "'\(AtomNames.atom)'"
            )
        }
        var problems = ProblemList()
        let reader = try RegistrationReader(try Self.description(in: root), &problems)
        self = try reader.registration(id: id, maximumTags: maximumTags, &problems)
    }

    /// Reads one description without an entry around it: a line of an import file or of an export (protocol §8.1).
    ///
    /// The registration has the id that the line names, or else a new one, and the expiry that the line states.
    ///
    /// - Throws: ``ProtocolError`` 400 naming every problem at once, 413 for a line above
    ///   ``RegistrationRecords/maximumBytes``.
    package init(
        description line: [UInt8],
        maximumTags: Int = Installation.maximumTags
    ) throws(ProtocolError) {
        var problems = ProblemList()
        let reader = try RegistrationReader(try Self.root(of: line, limit: RegistrationRecords.maximumBytes), &problems)
        let id = reader.statedID(&problems)
        let expirationTime = reader.statedExpirationTime(&problems)
        self = try reader.registration(id: id ?? .random(), maximumTags: maximumTags, &problems)
        self.expirationTime = expirationTime
    }

    /// Reads an entry that a hub has written, with its ETag and its expiry.
    ///
    /// The rules of registrations are not checked again: another hub may allow more.
    ///
    /// - Throws: ``ProtocolError`` 400 naming every problem at once.
    init(answered entry: XMLElement) throws(ProtocolError) {
        let description = try Self.description(in: entry)
        var problems = ProblemList()
        let reader = try RegistrationReader(description, &problems)
        let id = reader.statedID(&problems)
        if id == nil { problems.add("RegistrationId is missing") }
        let expirationTime = reader.statedExpirationTime(&problems)
        self = reader.storedRegistration(id: id ?? .random(), &problems)
        self.expirationTime = expirationTime
        etag = description.children.first { $0.localName == "ETag" }.flatMap { Int($0.text) } ?? 0
        try problems.throwIfAny()
    }

    private static func description(in entry: XMLElement) throws(ProtocolError) -> XMLElement {
        guard let content = entry.first(AtomNames.content) else {
            throw .badRequest("the entry has no 'content' in namespace '\(AtomNames.atom)'")
        }
        var children = content.children
        guard let description = children.next() else {
            throw .badRequest("the entry's content contains no element; a registration's description is expected")
        }
        return description
    }

    static func root(of body: [UInt8], limit: Int = .max) throws(ProtocolError) -> XMLElement {
        guard body.count <= limit else { throw .tooLarge("the body is larger than \(limit) bytes") }
        guard !body.isEmpty else {
            throw .badRequest("the body is empty; an Atom entry with a registration is expected")
        }
        let (text, fault) = CharacterDecoding.utf8(body, charset: nil)
        if let fault { throw .badRequest("the body cannot be read as text: \(fault)") }
        do {
            let tree = try XMLScanner.strictTree(of: text, vocabulary: AtomNames.vocabulary)
            if let root = tree.root { return root }
        } catch {
            throw .badRequest("the body is not well-formed XML: \(error)")
        }
        throw .badRequest("the body has no element")
    }
}

/// Reads one registration description, and notes its problems.
private struct RegistrationReader {
    let type: RegistrationType
    let isTemplate: Bool
    let fields: RegistrationFields

    /// - Throws: ``ProtocolError`` 400 for a description of an unknown kind, which cannot be checked further.
    init(_ description: XMLElement, _ problems: inout ProblemList) throws(ProtocolError) {
        let root = description.localName
        guard description.name.hasPrefix(AtomNames.serviceBusPrefix) else {
            throw .badRequest(
                "'\(root.excerpt)' is in \(description.shownNamespace); a registration's description is in namespace "
                    + "'\(AtomNames.serviceBus)'"
            )
        }
        // A type's name may have a prefix, which adds nothing.
        let stated = description.attribute(AtomNames.typeAttribute)?.split(separator: ":").last.map(String.init)
        guard let (type, isTemplate) = RegistrationType.named(stated ?? root) else {
            let names = RegistrationType.all.map(\.nativeRoot).joined(separator: ", ")
            let what =
                root == RegistrationType.base && stated == nil
                ? "'\(root)' has no i:type that names its kind"
                : "'\((stated ?? root).excerpt)' is not a registration description"
            throw .badRequest("\(what); known are \(names), and each with 'Template' before 'RegistrationDescription'")
        }
        self.type = type
        self.isTemplate = isTemplate
        fields = RegistrationFields(description, &problems)
    }

    /// A registration that may be stored.
    func registration(
        id: RegistrationID,
        maximumTags: Int,
        _ problems: inout ProblemList
    ) throws(ProtocolError) -> Registration {
        let channel = channel(&problems)
        let tags = fields.text(.tags, &problems).map { TagList.read(joined: $0, &problems) } ?? []
        let registration = registration(id: id, channel: channel, tags: tags, &problems)
        // A missing channel has been noted; other problems are reported with it.
        registration.checkRules(requiresPushChannel: channel != nil, maximumTags: maximumTags, &problems)
        try problems.throwIfAny()
        return registration
    }

    /// A registration that a hub has stored: its tags are as it wrote them.
    func storedRegistration(id: RegistrationID, _ problems: inout ProblemList) -> Registration {
        let tags = fields.text(.tags, &problems)?.split(separator: ",").map { Tag(valid: String($0.trimmed)) }
        return registration(id: id, channel: channel(&problems), tags: tags ?? [], &problems)
    }

    private func registration(
        id: RegistrationID,
        channel: PushChannel?,
        tags: [Tag],
        _ problems: inout ProblemList
    ) -> Registration {
        let variables = pushVariables(&problems)
        let tile = type.hasSecondaryTiles ? fields.text(.secondaryTileName, &problems) : nil
        let template = isTemplate ? template(&problems) : nil
        return Registration(
            id: id,
            tags: tags,
            pushVariables: variables,
            platform: type.platform,
            pushChannel: channel ?? .handle(""),
            secondaryTileName: tile?.isEmpty == true ? nil : tile,
            template: template,
            isFcm: type.isFcm
        )
    }

    func statedID(_ problems: inout ProblemList) -> RegistrationID? {
        fields.text(.registrationID, &problems).flatMap { text in
            text.isEmpty ? nil : problems.catching { () throws(ProtocolError) in try RegistrationID(text) }
        }
    }

    func statedExpirationTime(_ problems: inout ProblemList) -> Date? {
        guard let text = fields.text(.expirationTime, &problems), !text.isEmpty else { return nil }
        guard let date = ISODateTime.parse(text) else {
            problems.add("ExpirationTime '\(text.excerpt)' is not an ISO 8601 date-time")
            return nil
        }
        return ISODateTime.isNever(date) ? nil : date
    }
}

extension RegistrationReader {
    private func channel(_ problems: inout ProblemList) -> PushChannel? {
        var texts: [String] = []
        for field in type.handleFields {
            if let text = fields.required(field, &problems) { texts.append(text) }
        }
        guard texts.count == type.handleFields.count else { return nil }
        switch type.platform {
        case .browser:
            return .browser(BrowserPushChannel(endpoint: texts[0], p256dh: texts[1], auth: texts[2]))
        case .baidu:
            if texts[0].utf8.contains(UInt8(ascii: "-")) {
                problems.add("BaiduUserId contains '-', which separates it from BaiduChannelId in a handle")
            }
            for (field, text) in zip(type.handleFields, texts) where text.isEmpty {
                problems.add("\(field.name) is empty")
            }
            return .handle(texts.joined(separator: "-"))
        default: return .handle(texts[0])
        }
    }

    /// A JSON object in a text.
    private func pushVariables(_ problems: inout ProblemList) -> [String: String] {
        guard let text = fields.text(.pushVariables, &problems), !text.isEmpty else { return [:] }
        do {
            let node = try JSONReader.read(Array(text.utf8))
            return node.content == .null ? [:] : JSONMembers.texts(node, at: "PushVariables", &problems)
        } catch {
            problems.add("PushVariables is not valid JSON: \(error.reason), at byte \(error.offset)")
            return [:]
        }
    }

    private func template(_ problems: inout ProblemList) -> RegistrationTemplate? {
        let body = fields.required(.bodyTemplate, &problems)
        let isApple = type.platform == .apns
        let template = RegistrationTemplate(
            name: fields.text(.templateName, &problems) ?? "",
            body: body ?? "",
            headers: type.headerField.map { headers($0, &problems) } ?? [:],
            // Serialisers that cannot omit an element write an empty one.
            expiry: isApple ? fields.text(.expiry, &problems).flatMap { $0.isEmpty ? nil : $0 } : nil,
            priority: isApple ? fields.text(.priority, &problems) : nil,
            messageType: type.platform == .baidu ? fields.text(.messageType, &problems) : nil
        )
        return body == nil ? nil : template
    }

    private func headers(_ field: RegistrationField, _ problems: inout ProblemList) -> [String: String] {
        guard let collection = fields[field] else { return [:] }
        let item = field.name.dropLast()
        var headers: [String: String] = [:]
        for element in collection.children {
            guard element.localName == item, let name = element.first(AtomNames.headerName)?.text,
                let value = element.first(AtomNames.headerValue)?.text
            else {
                problems.add("\(field.name) contains something other than \(item) with Header and Value")
                continue
            }
            if headers.updateValue(value, forKey: name) != nil {
                problems.add("\(field.name) contains '\(name.excerpt)' twice")
            }
        }
        return headers
    }
}

extension TagList {
    /// Reads tags separated by commas and optional blanks; equal tags are read once.
    static func read(joined text: String, _ problems: inout ProblemList) -> [Tag] {
        let names = text.utf8.split(separator: UInt8(ascii: ",")).map { String(Substring($0).trimmed) }
        let tags = names.filter { !$0.isEmpty }.compactMap { name in
            problems.catching { () throws(ProtocolError) in try Tag(name) }
        }
        return tags.distinct()
    }
}
