import Crypto
import Formats
import Foundation
package import HubProtocol
package import HubRouting

/// A registration with the state that only the hub knows.
package struct StoredRegistration: Sendable, Equatable {
    package let ordinal: Ordinal
    /// Without tags and handle if ``isReadable`` is false.
    package let registration: Registration
    /// The installation that it is part of; `nil` if it was registered on its own.
    package let installation: (id: InstallationID, part: InstallationPart)?
    package let createdAt: Timestamp
    package let updatedAt: Timestamp
    /// The registration has its present state for messages with a higher sequence.
    package let changedAfter: LogSequence
    /// The registration did not exist for messages up to this sequence.
    package let createdAfter: LogSequence
    /// Tags of all parts of its installation; empty if it was registered on its own.
    package var installationTags: [Tag] = []
    /// The charge, as in ``Target/charge``.
    package var charge = 0
    /// The writer, as in ``Target/writer``.
    package var writer: ListenWriter?
    /// True if the push service has reported that the channel of its installation or tile will never work again.
    package var isChannelExpired = false
    /// The target that routing knows, if the record cannot be read.
    var unreadable: Target?

    /// False if the row cannot be read: the registration is then left out of lists, and a new one can replace it.
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
            charge: charge,
            writer: writer
        )
    }
}

/// A former state of a registration, for a range of messages.
package struct FormerRegistration: Sendable, Equatable {
    package let registration: Registration
    package let ordinal: Ordinal
    /// The state was in force for messages above the first sequence and up to the second one.
    package let after: LogSequence
    package let through: LogSequence
}

/// A page of registrations.
package struct RegistrationPage: Sendable {
    package let registrations: [StoredRegistration]
    /// The id at which the next page begins; `nil` on the last page.
    package let next: String?

    package init(registrations: [StoredRegistration], next: String?) {
        self.registrations = registrations
        self.next = next
    }
}

extension [Tag] {
    /// The tags as registrations carry them; no tag contains a comma.
    var joined: String { map(\.text).joined(separator: ",") }
}

/// The parts of a registration that have no column of their own.
///
/// Its JSON is encoded and decoded by hand: with a decoder and an encoder a write costs the hub a tenth more.
struct RegistrationRecord {
    var channel: PushChannel
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

    /// Reads the result of ``encoded``.
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
        let record: JSONText = [
            "channel": Self.json(channel), "variables": variables.map { JSONText(sorted: $0) }, "tile": JSONText(tile),
            "template": template.map(Self.json), "isFcm": isFcm ? true : nil,
        ]
        return Data(record.text.utf8)
    }

    private static func json(_ channel: PushChannel) -> JSONText {
        switch channel {
        case .handle(let text): JSONText(text)
        case .browser(let browser):
            [
                "endpoint": JSONText(browser.endpoint), "p256dh": JSONText(browser.p256dh),
                "auth": JSONText(browser.auth), "isText": JSONText(browser.isText),
                "senderKeyID": JSONText(browser.senderKeyID),
            ]
        }
    }

    private static func json(_ template: RegistrationTemplate) -> JSONText {
        [
            "name": JSONText(template.name), "body": JSONText(template.body), "expiry": JSONText(template.expiry),
            "priority": JSONText(template.priority), "messageType": JSONText(template.messageType),
            "headers": JSONText(sorted: template.headers),
        ]
    }
}

extension PushChannel {
    /// A number that indexes handles; several handles may share it.
    ///
    /// Handles are long, and device tokens may be in upper or lower case.
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
