/// One operation of a patch in parsed form.
enum InstallationChange: Sendable, Equatable {
    case userID(UserID?)
    case pushVariables([String: String])
    /// A `nil` value removes the variable.
    case pushVariable(name: String, value: String?)
    /// A `nil` tile removes it.
    case tile(name: String, SecondaryTile?)
    /// On the installation itself, or on one of its secondary tiles.
    case target(tile: String?, TargetChange)

    /// A change of an installation or of a secondary tile.
    enum TargetChange: Sendable, Equatable {
        case pushChannel(PushChannel)
        case tags(template: String?, TagChange)
        case template(name: String, TemplateChange)
        /// All templates; those that are left out are removed.
        case templates([String: InstallationTemplate])
    }

    enum TagChange: Sendable, Equatable {
        case add([Tag])
        case replace([Tag])
        case remove(Tag)
    }

    enum TemplateChange: Sendable, Equatable {
        case set(InstallationTemplate)
        case remove
        /// A removed body leaves an empty one, which the rules refuse unless a later operation sets it.
        case body(String)
        case expiry(String?)
        case headers([String: String])
    }
}

extension InstallationChange {
    func apply(to installation: inout Installation) {
        switch self {
        case .userID(let id): installation.userID = id
        case .pushVariables(let variables): installation.pushVariables = variables
        case .pushVariable(let name, let value): installation.pushVariables[name] = value
        case .tile(let name, let tile): installation.secondaryTiles[name] = tile
        case .target(let name, let change):
            if installation[tile: name] == nil, change.isRemoval { return }
            var target = installation[tile: name] ?? SecondaryTile()
            change.apply(to: &target)
            installation[tile: name] = target
        }
    }
}

extension InstallationChange.TargetChange {
    /// True if it only removes something, so that it must not create its tile or template.
    var isRemoval: Bool {
        switch self {
        case .pushChannel: false
        case .tags(_, let change): change.isRemoval
        case .template(_, let change): change.isRemoval
        case .templates(let templates): templates.isEmpty
        }
    }

    func apply(to target: inout SecondaryTile) {
        switch self {
        case .pushChannel(let channel):
            target.pushChannel = channel.spelled(as: target.pushChannel)
            // A new address has not failed yet.
            target.pushChannelExpired = false
        case .tags(nil, let change): change.apply(to: &target.tags)
        case .tags(let name?, let change):
            if target.templates[name] == nil, change.isRemoval { return }
            change.apply(to: &target.templates[name, default: InstallationTemplate(body: "")].tags)
        case .template(let name, let change):
            if target.templates[name] == nil, change.isRemoval { return }
            change.apply(to: &target.templates, name: name)
        case .templates(let templates): target.templates = templates
        }
    }
}

extension InstallationChange.TemplateChange {
    fileprivate var isRemoval: Bool {
        switch self {
        case .set: false
        case .remove: true
        case .body(let body): body.isEmpty
        case .expiry(let expiry): expiry == nil
        case .headers(let headers): headers.isEmpty
        }
    }

    fileprivate func apply(to templates: inout [String: InstallationTemplate], name: String) {
        switch self {
        case .set(let template): templates[name] = template
        case .remove: templates[name] = nil
        case .body(let body): templates[name, default: InstallationTemplate(body: "")].body = body
        case .expiry(let expiry): templates[name, default: InstallationTemplate(body: "")].expiry = expiry
        case .headers(let headers): templates[name, default: InstallationTemplate(body: "")].headers = headers
        }
    }
}

extension InstallationChange.TagChange {
    fileprivate var isRemoval: Bool {
        switch self {
        case .add(let tags), .replace(let tags): tags.isEmpty
        case .remove: true
        }
    }

    fileprivate func apply(to tags: inout [Tag]) {
        switch self {
        case .add(let new):
            var present = Set(tags)
            for tag in new where present.insert(tag).inserted { tags.append(tag) }
        case .replace(let new): tags = new
        case .remove(let old): tags.removeAll { $0 == old }
        }
    }
}
