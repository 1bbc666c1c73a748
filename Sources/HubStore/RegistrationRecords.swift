import Crypto
import Foundation
package import HubProtocol
package import HubRouting

/// A registration as it stands, with what only the hub knows of it.
package struct StoredRegistration: Sendable, Equatable {
    package let ordinal: Ordinal
    /// Without tags and handle if ``isReadable`` is false.
    package let registration: Registration
    /// The installation that it stands for; `nil` for one that was registered by itself.
    package let installation: (id: InstallationID, part: InstallationPart)?
    package let createdAt: Timestamp
    package let updatedAt: Timestamp
    /// It is as it is for messages with a higher sequence.
    package let changedAfter: LogSequence
    /// It was not there for messages up to this sequence.
    package let createdAfter: LogSequence
    /// Tags of all parts of the installation that it stands for; empty for one that was registered by itself.
    package var installationTags: [Tag] = []
    /// As ``Target/charge``.
    package var charge = 0
    /// The push service has said that its installation's channel, or its tile's, will never work again.
    package var isChannelExpired = false
    /// What routing has of one that cannot be read.
    var unreadable: Target?

    /// Its row could be read; if not, it stands in no list, and a new one can be put in its place.
    package var isReadable: Bool { unreadable == nil }

    package static func == (left: StoredRegistration, right: StoredRegistration) -> Bool {
        left.ordinal == right.ordinal && left.registration == right.registration
            && left.changedAfter == right.changedAfter
    }

    var target: Target {
        if let unreadable { return unreadable }
        return Target(
            ordinal: ordinal,
            platform: registration.platform,
            isTemplate: registration.template != nil,
            tags: registration.tags.joined,
            installation: nil,
            isMain: false,
            charge: charge
        )
    }
}

/// A registration as it was, for messages up to a sequence.
package struct FormerRegistration: Sendable, Equatable {
    package let registration: Registration
    package let ordinal: Ordinal
    /// It was so for messages above the first and up to the second sequence.
    package let after: LogSequence
    package let through: LogSequence
}

/// A page of registrations.
package struct RegistrationPage: Sendable {
    package let registrations: [StoredRegistration]
    /// Where the next page begins; `nil` on the last one.
    package let next: String?

    package init(registrations: [StoredRegistration], next: String?) {
        self.registrations = registrations
        self.next = next
    }
}

extension [Tag] {
    /// As registrations carry them; no tag holds a comma.
    var joined: String { map(\.text).joined(separator: ",") }
}

/// What of a registration has no column of its own.
///
/// Its JSON is read and written by hand: with `JSONDecoder` and `JSONEncoder` a write costs the hub a tenth more.
struct RegistrationRecord {
    let channel: PushChannel
    var variables: [String: String]?
    var tile: String?
    var template: RegistrationTemplate?
    var isFcm = false

    init(_ registration: Registration) {
        channel = registration.pushChannel
        variables = registration.pushVariables.isEmpty ? nil : registration.pushVariables
        tile = registration.secondaryTileName
        template = registration.template
        isFcm = registration.isFcm
    }

    /// Reads what ``encoded`` gave.
    init(_ json: Data) throws {
        guard case .object(let members) = try JSONReader.read([UInt8](json)).content,
            let channel = members.first(where: { $0.name == "channel" }).flatMap({ Self.channel($0.value) })
        else { throw HubStoreError.unreadableRecord }
        self.channel = channel
        for member in members {
            switch member.name {
            case "variables": variables = try Self.texts(member.value)
            case "tile": tile = member.value.string
            case "template": template = try Self.template(member.value)
            case "isFcm": isFcm = member.value.content == .bool(true)
            default: break
            }
        }
    }

    private static func channel(_ node: JSONNode) -> PushChannel? {
        guard case .object(let members) = node.content else { return node.string.map { .handle($0) } }
        func text(_ name: String) -> String? { members.first { $0.name == name }?.value.string }
        guard let endpoint = text("endpoint"), let p256dh = text("p256dh"), let auth = text("auth") else { return nil }
        let isText = members.contains { $0.name == "isText" && $0.value.content == .bool(true) }
        var browser = BrowserPushChannel(endpoint: endpoint, p256dh: p256dh, auth: auth, isText: isText)
        browser.senderKeyID = text("senderKeyID")
        return .browser(browser)
    }

    private static func template(_ node: JSONNode) throws -> RegistrationTemplate {
        guard case .object(let members) = node.content else { throw HubStoreError.unreadableRecord }
        func text(_ name: String) -> String? { members.first { $0.name == name }?.value.string }
        guard let name = text("name"), let body = text("body") else { throw HubStoreError.unreadableRecord }
        return RegistrationTemplate(
            name: name,
            body: body,
            headers: try members.first { $0.name == "headers" }.map { try texts($0.value) } ?? [:],
            expiry: text("expiry"),
            priority: text("priority"),
            messageType: text("messageType")
        )
    }

    private static func texts(_ node: JSONNode) throws -> [String: String] {
        guard case .object(let members) = node.content else { throw HubStoreError.unreadableRecord }
        return try members.reduce(into: [:]) { texts, member in
            guard let text = member.value.string else { throw HubStoreError.unreadableRecord }
            texts[member.name] = text
        }
    }

    var encoded: Data {
        var members = [(name: "channel", value: Self.json(channel))]
        if let variables { members.append(("variables", JSONText.object(variables))) }
        if let tile { members.append(("tile", JSONText.string(tile))) }
        if let template { members.append(("template", Self.json(template))) }
        if isFcm { members.append(("isFcm", "true")) }
        return Data(JSONText.object(members).utf8)
    }

    private static func json(_ channel: PushChannel) -> String {
        switch channel {
        case .handle(let text): JSONText.string(text)
        case .browser(let browser):
            JSONText.object(
                [
                    ("endpoint", JSONText.string(browser.endpoint)), ("p256dh", JSONText.string(browser.p256dh)),
                    ("auth", JSONText.string(browser.auth)), ("isText", "\(browser.isText)"),
                ] + (browser.senderKeyID.map { [("senderKeyID", JSONText.string($0))] } ?? [])
            )
        }
    }

    private static func json(_ template: RegistrationTemplate) -> String {
        let texts = [
            ("name", template.name), ("body", template.body), ("expiry", template.expiry),
            ("priority", template.priority), ("messageType", template.messageType),
        ]
        let members = texts.compactMap { name, text in text.map { (name, JSONText.string($0)) } }
        return JSONText.object(members + [("headers", JSONText.object(template.headers))])
    }
}

extension PushChannel {
    /// A number by which registrations of a handle are found; others may have it as well.
    ///
    /// Handles are long, and device tokens come in either case.
    var key: Int64 {
        switch self {
        case .handle(let text): Self.key(text)
        case .browser(let browser): Self.key(browser.endpoint)
        }
    }

    static func key(_ handle: String) -> Int64 {
        SHA256.hash(data: Data(handle.lowercased().utf8)).prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }
}
