import Formats

/// The address to which a push service delivers an installation's notifications.
package enum PushChannel: Sendable, Equatable {
    /// A device token, registration id, channel URI, or the secret of a `stream` installation.
    case handle(String)
    case browser(BrowserPushChannel)

    /// Longest handle, in bytes; the longest known, of WNS, stay below 1,024.
    package static let maximumLength = 4_096
}

/// A browser's push subscription (RFC 8030, RFC 8291).
package struct BrowserPushChannel: Sendable, Equatable, Codable {
    package let endpoint: String
    /// The browser's public key, base64url.
    package let p256dh: String
    /// The shared secret, base64url.
    package let auth: String
    /// True if it arrived as JSON text in a string: it is returned in this form, since .NET and Java could not read an
    /// object (protocol §4.2).
    package var isText: Bool
    /// The VAPID key of the hub with which the browser has subscribed; `nil` if it was not stored.
    ///
    /// Only the hub knows it: no client sends or reads it, and channels that differ only in it are equal.
    package var senderKeyID: String?

    package init(endpoint: String, p256dh: String, auth: String, isText: Bool = false) {
        self.endpoint = endpoint
        self.p256dh = p256dh
        self.auth = auth
        self.isText = isText
    }

    package static func == (one: BrowserPushChannel, other: BrowserPushChannel) -> Bool {
        (one.endpoint, one.p256dh, one.auth, one.isText) == (other.endpoint, other.p256dh, other.auth, other.isText)
    }
}

extension PushChannel {
    /// Reads a `pushChannel` member: a string, an object, or an object as text.
    init?(_ node: JSONNode, at label: String, _ problems: inout ProblemList) {
        switch node.content {
        case .string(let text) where text.trimmed.first == "{":
            guard let object = try? JSONReader.read(Array(text.utf8)) else {
                problems.add("\(label) begins with '{' but is not a JSON object")
                return nil
            }
            self.init(object: object, isText: true, at: label, &problems)
        case .string(let text):
            self = .handle(text)
        case .object:
            self.init(object: node, isText: false, at: label, &problems)
        default:
            problems.add("\(label) is \(node.kind), not a string or an object")
            return nil
        }
    }

    private init?(object: JSONNode, isText: Bool, at label: String, _ problems: inout ProblemList) {
        guard case .object(let members) = object.content else {
            problems.add("\(label) is not a JSON object")
            return nil
        }
        func member(_ name: String) -> String? { members.first { $0.name == name }?.value.string }
        guard let endpoint = member("endpoint"), let p256dh = member("p256dh"), let auth = member("auth") else {
            problems.add("\(label) lacks a text 'endpoint', 'p256dh' or 'auth'")
            return nil
        }
        self = .browser(BrowserPushChannel(endpoint: endpoint, p256dh: p256dh, auth: auth, isText: isText))
    }

    /// The member's value as JSON.
    var json: JSONText {
        switch self {
        case .handle(let text): return JSONText(text)
        case .browser(let browser):
            let object: JSONText = [
                "endpoint": JSONText(browser.endpoint), "p256dh": JSONText(browser.p256dh),
                "auth": JSONText(browser.auth),
            ]
            return browser.isText ? JSONText(object.text) : object
        }
    }
}

extension PushChannel {
    /// Returns the same channel; a browser's gets the form of `other`, the stored channel that clients read back.
    ///
    /// A patch's value is a string in every client, even in the one that stores an object (protocol §4.4).
    func spelled(as other: PushChannel?) -> PushChannel {
        guard case .browser(let browser) = self, case .browser(let model) = other else { return self }
        var spelled = browser
        spelled.isText = model.isText
        return .browser(spelled)
    }
}

extension PushChannel: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .handle(text)
        } else {
            self = .browser(try container.decode(BrowserPushChannel.self))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .handle(let text): try container.encode(text)
        case .browser(let browser): try container.encode(browser)
        }
    }
}

extension PushChannel {
    /// The address as clients name it; for a browser its endpoint.
    package var handle: String {
        switch self {
        case .handle(let text): text
        case .browser(let browser): browser.endpoint
        }
    }

    /// A text that is equal for handles of the same device: see ``isAddressed(by:)``.
    package var address: String {
        let own = handle
        return own.isHexadecimal ? own.lowercased() : own
    }

    /// True if `handle` is this channel's handle; hexadecimal device tokens are equal in either case (protocol §3.5).
    package func isAddressed(by handle: String) -> Bool {
        let own = self.handle
        if own == handle { return true }
        return own.isHexadecimal && own.lowercased() == handle.lowercased()
    }

    /// True if a notification to this channel reaches the same device as one to another channel: a browser's with the
    /// same endpoint and keys in any form, else the same handle.
    package func isSameAddress(as other: PushChannel) -> Bool {
        switch (self, other) {
        case (.handle, .handle(let handle)): isAddressed(by: handle)
        case (.browser(let own), .browser(let other)):
            own.endpoint == other.endpoint && own.p256dh == other.p256dh && own.auth == other.auth
        case (.handle, .browser), (.browser, .handle): false
        }
    }
}
