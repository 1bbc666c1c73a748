package import Formats
package import HubProtocol

/// The body of `PUT /api/register/{id}`: `{"Platform":"apns","Handle":"…","Tags":["…"]}`.
///
/// Member names are case-insensitive, as in the tutorials' server.
///
/// Source: protocol §9.
struct WantedRegistration: Sendable, Equatable {
    /// The largest body, in bytes.
    static let maximumBytes = Registration.maximumBytes
    /// The platforms with a push handle; agents register installations instead.
    static let platforms = NotifiedPlatform.allCases.filter { $0 != .stream }.map(\.platform) + [.mpns]

    let platform: Platform
    let channel: PushChannel
    /// The tags in the client's order, without duplicates.
    let tags: [Tag]

    /// - Throws: 400 that names the error, and never the handle.
    init(json: [UInt8], tags rules: DeviceTags) throws(BackendRefusal) {
        let members = try Self.members(of: json)
        guard let name = members["platform"]?.string else {
            throw .badRequest("The member 'Platform' is missing or not a string.")
        }
        guard let platform = Self.platforms.first(where: { $0 == Platform(rawValue: name) }) else {
            let known = Self.platforms.map(\.rawValue).joined(separator: ", ")
            throw .badRequest("The platform '\(name.excerpt)' is not one of \(known).")
        }
        self.platform = platform
        guard let handle = members["handle"], let channel = PushChannel(handle: handle) else {
            throw .badRequest("The member 'Handle' is missing or not a push handle.")
        }
        self.channel = channel
        tags = try Self.tags(members["tags"])
        try rules.check(tags)
    }

    /// The registration that this request creates for a user.
    ///
    /// - Throws: 400 that names every broken rule.
    func registration(
        _ id: RegistrationID,
        of user: UserName,
        maximumTags: Int
    ) throws(BackendRefusal) -> Registration {
        let registration = Registration(
            id: id,
            tags: tags + [DeviceTags.tag(of: user)],
            platform: platform,
            pushChannel: channel
        )
        do {
            try registration.validate(maximumTags: maximumTags)
        } catch {
            throw BackendRefusal(error)
        }
        return registration
    }

    private static func members(of json: [UInt8]) throws(BackendRefusal) -> [String: JSONNode] {
        let object = try JSONBody.read(json)
        guard let members = object.members else {
            throw .badRequest(#"The body is not a JSON object {"Platform":"…","Handle":"…","Tags":["…"]}."#)
        }
        var found: [String: JSONNode] = [:]
        for member in members where member.value.content != .null {
            guard found.updateValue(member.value, forKey: member.name.lowercased()) == nil else {
                throw .badRequest("The body has the member '\(member.name.excerpt)' in two spellings.")
            }
        }
        return found
    }

    private static func tags(_ node: JSONNode?) throws(BackendRefusal) -> [Tag] {
        guard let node else { return [] }
        guard case .array(let elements) = node.content else {
            throw .badRequest("The member 'Tags' is not an array of strings.")
        }
        var tags: [Tag] = []
        for element in elements {
            guard let text = element.string else {
                throw .badRequest("The member 'Tags' is not an array of strings.")
            }
            do {
                tags.append(try Tag(text))
            } catch {
                throw BackendRefusal(error)
            }
        }
        return tags.distinct()
    }
}

extension PushChannel {
    /// Reads a handle as apps send it: a string or, for a browser, its subscription as an object or as text.
    init?(handle node: JSONNode) {
        if let text = node.string {
            self.init(handle: text)
        } else {
            guard let browser = BrowserPushChannel(node) else { return nil }
            self = .browser(browser)
        }
    }

    init?(handle text: String) {
        guard !text.isEmpty, text.utf8.count <= Self.maximumLength else { return nil }
        guard text.hasPrefix("{") else {
            self = .handle(text)
            return
        }
        guard let node = try? JSONReader.read(Array(text.utf8)), let browser = BrowserPushChannel(node) else {
            return nil
        }
        self = .browser(browser)
    }
}

extension BrowserPushChannel {
    /// Reads a subscription as JSON.
    package init?(_ node: JSONNode) {
        guard let endpoint = node["endpoint"]?.string else { return nil }
        // PushSubscription.toJSON() puts the keys into a separate object.
        let keys = node["keys"] ?? node
        guard let p256dh = keys["p256dh"]?.string, let auth = keys["auth"]?.string else { return nil }
        self.init(endpoint: endpoint, p256dh: p256dh, auth: auth)
    }
}
