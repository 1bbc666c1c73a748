import Formats

/// Reads one operation of a patch: `{"op":…, "path":…, "value":…}`.
///
/// Source: protocol §4.4; RFC 6901 for the path.
struct InstallationOperationReader {
    private(set) var problems = ProblemList()
    private let members: JSONMembers
    private let number: Int
    private var isRemoval = false
    private var isReplacement = false
    private var label = ""

    init(_ members: JSONMembers, number: Int) {
        self.members = members
        self.number = number
        label = "operation \(number)"
    }

    /// Reads the operation; `nil` if it is refused, with the reason in ``problems``.
    mutating func read() -> InstallationChange? {
        guard let op = members.text("op", at: "\(label): op", &problems),
            let path = members.text("path", at: "\(label): path", &problems)
        else {
            problems.add("\(label) needs an 'op' and a 'path'")
            return nil
        }
        label = "operation \(number) (\(op.excerpt) \(path.excerpt))"
        switch op.lowercased() {
        case "add": break
        case "replace": isReplacement = true
        case "remove": isRemoval = true
        default:
            problems.add("\(label): the op is not one of add, remove, replace")
            return nil
        }
        guard let segments = JSONPointer.segments(path), !segments.contains("") else {
            problems.add("\(label): the path is not a JSON pointer, or has an empty name")
            return nil
        }
        return change(segments[...])
    }

    private mutating func change(_ path: ArraySlice<String>) -> InstallationChange? {
        switch (path.first, path.count) {
        case ("userId", 1): return userID()
        case ("pushVariables", 1): return isRemoval ? .pushVariables([:]) : texts().map { .pushVariables($0) }
        case ("pushVariables", 2):
            let name = path[path.startIndex + 1]
            if isRemoval { return .pushVariable(name: name, value: nil) }
            return text().map { .pushVariable(name: name, value: $0) }
        case ("secondaryTiles", 2):
            let name = path[path.startIndex + 1]
            if isRemoval { return .tile(name: name, nil) }
            guard let members = object() else { return nil }
            return accepted(.tile(name: name, SecondaryTile(members, .request, at: "\(label): ", &problems)))
        case ("secondaryTiles", 3...):
            let name = path[path.startIndex + 1]
            return targetChange(path.dropFirst(2)).map { .target(tile: name, $0) }
        default:
            return targetChange(path).map { .target(tile: nil, $0) }
        }
    }

    private mutating func targetChange(_ path: ArraySlice<String>) -> InstallationChange.TargetChange? {
        switch (path.first, path.count) {
        case ("pushChannel", 1):
            guard !isRemoval else { return refuse("a push channel cannot be removed") }
            guard let value = value(), let channel = PushChannel(value, at: "\(label): value", &problems) else {
                return nil
            }
            return .pushChannel(channel)
        case ("tags", 1...2):
            return tagChange(path.dropFirst()).map { .tags(template: nil, $0) }
        case ("templates", 1) where !isRemoval: return templates().map { .templates($0) }
        case ("templates", 2...):
            let name = path[path.startIndex + 1]
            let rest = path.dropFirst(2)
            if rest.first == "tags", rest.count <= 2 {
                return tagChange(rest.dropFirst(), ofTemplate: name).map { .tags(template: name, $0) }
            }
            return templateChange(rest, of: name).map { .template(name: name, $0) }
        default:
            return unknownPath()
        }
    }

    /// Reads all templates of an installation or a tile.
    private mutating func templates() -> [String: InstallationTemplate]? {
        guard let node = structured() else { return nil }
        guard case .object(let members) = node.content else {
            return refuse("the value is \(node.kind), not an object")
        }
        var templates: [String: InstallationTemplate] = [:]
        for member in members where member.value.content != .null {
            let place = "\(label): value/\(member.name.excerpt)"
            guard case .object(let inner) = member.value.content else {
                return refuse("the template '\(member.name.excerpt)' is \(member.value.kind), not an object")
            }
            templates[member.name] = InstallationTemplate(JSONMembers(inner), name: member.name, at: place, &problems)
        }
        return accepted(templates)
    }

    private mutating func templateChange(
        _ path: ArraySlice<String>,
        of name: String
    ) -> InstallationChange.TemplateChange? {
        guard path.count <= 1 else { return unknownPath() }
        switch path.first {
        case nil:
            if isRemoval { return .remove }
            guard let members = object() else { return nil }
            return InstallationTemplate(members, name: name, at: "\(label): value", &problems)
                .flatMap { accepted(.set($0)) }
        case "body": return isRemoval ? .body("") : text().map { .body($0) }
        case "expiry": return isRemoval ? .expiry(nil) : text().map { .expiry($0) }
        case "headers": return isRemoval ? .headers([:]) : texts().map { .headers($0) }
        default: return unknownPath()
        }
    }

    /// Reads `/tags` with its value, or `/tags/{tag}`, where the path is sufficient.
    private mutating func tagChange(
        _ path: ArraySlice<String>,
        ofTemplate template: String? = nil
    ) -> InstallationChange.TagChange? {
        if let name = path.first {
            if name == template, Tag(templateName: name) == nil { return .add([]) }
            guard let tag = TagList.read(name, at: label, &problems) else { return nil }
            return isRemoval ? .remove(tag) : .add([tag])
        }
        if isRemoval { return .replace([]) }
        guard let value = value() else { return nil }
        var tags: [Tag] = []
        if let text = value.string, text.trimmed.first != "[" {
            if text == template, Tag(templateName: text) == nil { return .add([]) }
            guard let tag = TagList.read(text, at: label, &problems) else { return nil }
            tags = [tag]
        } else {
            guard let list = structured() else { return nil }
            tags = TagList.read(list, ofTemplate: template, at: "\(label): value", &problems)
        }
        return accepted(isReplacement ? .replace(tags) : .add(tags))
    }

    private mutating func userID() -> InstallationChange? {
        if isRemoval { return .userID(nil) }
        guard let text = text() else { return nil }
        return problems.catching(at: label) { () throws(ProtocolError) in .userID(try UserID(text)) }
    }
}

extension InstallationOperationReader {
    private mutating func refuse<Change>(_ reason: String) -> Change? {
        problems.add("\(label): \(reason)")
        return nil
    }

    private mutating func unknownPath<Change>() -> Change? {
        refuse(
            "the path is not one of /pushChannel, /userId, /tags, /pushVariables, /templates, /templates/{name} and "
                + "/secondaryTiles/{tile}, nor a part of one"
        )
    }

    /// Returns the change, unless reading it has noted a problem.
    private func accepted<Change>(_ change: Change) -> Change? { problems.isEmpty ? change : nil }

    private mutating func value() -> JSONNode? { members["value"] ?? refuse("it needs a value") }

    private mutating func text() -> String? {
        guard let value = value() else { return nil }
        return value.string ?? refuse("the value is \(value.kind), not a string")
    }

    /// Returns the value, read from its text if it is a string.
    private mutating func structured() -> JSONNode? {
        guard let value = value() else { return nil }
        guard let text = value.string else { return value }
        do {
            return try JSONReader.read(Array(text.utf8))
        } catch {
            return refuse("the value is a string, but not JSON: \(error.reason), at byte \(error.offset)")
        }
    }

    private mutating func object() -> JSONMembers? {
        guard let node = structured() else { return nil }
        guard case .object(let members) = node.content else {
            return refuse("the value is \(node.kind), not an object")
        }
        return JSONMembers(members)
    }

    private mutating func texts() -> [String: String]? {
        guard let node = structured() else { return nil }
        return accepted(JSONMembers.texts(node, at: "\(label): value", &problems))
    }
}

/// Paths of RFC 6901.
enum JSONPointer {
    /// Returns the unescaped names between the slashes; `nil` if the text does not begin with `/` or contains an
    /// invalid escape.
    static func segments(_ text: String) -> [String]? {
        guard text.utf8.first == UInt8(ascii: "/") else { return nil }
        var segments: [String] = []
        for raw in text.unicodeScalars.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            let parts = raw.split(separator: "~", omittingEmptySubsequences: false)
            let escaped = parts.dropFirst()
            guard escaped.allSatisfy({ $0.first == "0" || $0.first == "1" }) else { return nil }
            segments.append(
                escaped.reduce(into: String(parts[0])) { text, part in
                    text += part.first == "0" ? "~" : "/"
                    text += String(part.dropFirst())
                }
            )
        }
        return segments
    }
}
